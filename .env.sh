export PYTHONPATH=/tmp/mw/src
