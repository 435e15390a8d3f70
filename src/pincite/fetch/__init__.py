"""The fetch front door: URL → snapshot → document. Extractors read bytes; backends come by them."""
