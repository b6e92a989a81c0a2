package main

import "testing"

func TestAnOperationWithoutARequestIsToldByItsType(t *testing.T) {
	o := operation{Type: "place", Resource: "lan"}
	if got := o.request(); got != "place lan" {
		t.Errorf("told as %q", got)
	}
}
