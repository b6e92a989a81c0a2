package page

import (
	"testing"
	"time"
)

func TestViewsTakeTheirShareOfACoreAndNoMore(t *testing.T) {
	for _, c := range []struct {
		load    time.Duration
		streams int64
		want    time.Duration
	}{
		{0, 1, settle},                    // nothing has been made again yet
		{time.Millisecond, 1, settle},     // one who looks is told at once
		{6 * time.Millisecond, 10, 9e9},   // ten loads of 6 ms in 9 s are a hundred and fiftieth
		{20 * time.Millisecond, 1, 3e9},   // so is one of 20 ms in 3 s
		{time.Second, 100, pulse},         // older than a pulse no view gets
		{6 * time.Millisecond, 0, settle}, // the last one has just left
	} {
		var p pace
		p.streams.Store(c.streams)
		if c.load > 0 {
			p.weigh(c.load)
		}
		if got := p.rest(); got != c.want {
			t.Errorf("with %d streams and %s a load it rests %s, want %s", c.streams, c.load, got, c.want)
		}
	}
	var p pace
	for range 100 {
		p.weigh(10 * time.Millisecond)
	}
	p.weigh(90 * time.Millisecond) // one that was slow does not slow all down
	if got := time.Duration(p.load.Load()); got != 20*time.Millisecond {
		t.Errorf("a load takes %s after one that was slow", got)
	}
}
