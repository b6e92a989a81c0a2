package view

import (
	"bytes"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestAWordIsKept: who has said that it has all of an epoch takes nothing more in there, until another one that is to be believed has told of
// something that is not here: then nobody has ended it as it is here.
func TestAWordIsKept(t *testing.T) {
	v, paris := of("nantes"), lineOf("paris")
	v.take(t, paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil), paris.op(engine.TypeMerge, 2, nil, set("/a", "2"), nil))
	v.Epochs = append(v.Epochs, NewEpoch(1, first))
	if Keeps(v, "") {
		t.Error("no word was given, and it is kept")
	}
	v.Mine.Word = 1
	less, other := Sum(v), Sum(v)
	less[weightLen-1]--
	other[len(other)-1]++
	for i, tt := range []struct {
		sum  []byte
		but  engine.SiteID
		want bool
	}{{nil, "", true}, {Sum(v), "", true}, {less, "", true}, {other, "", false}, {other, "paris", true}} {
		v.status(t, "paris", engine.Status{Number: uint64(i + 1), Epoch: 1, Sum: tt.sum})
		if got := Keeps(v, tt.but); got != tt.want {
			t.Errorf("paris tells %x, %x is here: kept %t, want %t", tt.sum, Sum(v), got, tt.want)
		}
	}
	was := Sum(v)
	v.Fork(engine.Fork{Line: "paris", Number: 2})
	if now := Sum(v); !Keeps(v, "") || bytes.Compare(now[:weightLen], was[:weightLen]) <= 0 {
		t.Errorf("paris has forked its line, and is believed, or %x weighs no more than %x", now, was)
	}
}
