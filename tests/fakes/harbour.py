"""Three pages on the rules of a harbour, two of which disagree by their year, and a question that is too long."""

OLD = """<html><head><title>Harbour rules 2019</title>
<meta property="article:published_time" content="2019-04-02T08:00:00Z"></head><body><article><h1>Harbour rules</h1>
<p>The harbour of Halden admits boats of up to 12 metres. Boats pay 30 crowns a night. The harbour master decides who
may stay longer than five nights.</p></article></body></html>"""
NEW = OLD.replace("2019", "2024").replace("12 metres", "15 metres").replace("30 crowns", "45 crowns")
UNDATED = """# About the harbour

The harbour of Halden was dug in 1780. It has room for forty boats. The water is three metres deep at low tide.
"""
LONG = ("how many crowns do boats pay a night in the harbour of Halden " * 170).strip() + "?"
