"""The only place that names concrete classes: settings in, a working set of parts out.

`parts` is what an engine works with, over its `stores`; `searching` and `fetching` build the two services below
research; `sources` says where a run looks; `registry` names adapters by text: each is imported when it is first used.
"""
