package main

import (
	"testing"

	"github.com/skerry/skerry/web/client"
)

func TestAnOperationWithoutARequestIsToldByItsType(t *testing.T) {
	o := operation{client.Operation{Type: "place", Resource: "lan"}}
	if got := o.request(); got != "place lan" {
		t.Errorf("told as %q", got)
	}
}
