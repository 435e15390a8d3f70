"""Fakes of every port, shipped for the tests of programs that build on Pincite. Product code never imports them."""
