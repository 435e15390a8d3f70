"""Ways to come by the bytes of a page: adapters of `ports.FetchBackend`. Only wiring names them."""
