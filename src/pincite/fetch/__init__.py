"""The fetch service: URL → snapshot → document. Extractors read bytes; backends come by them."""
