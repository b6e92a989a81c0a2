package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/skerry/skerry/web/shape"
)

// TypeTrimmed is the type of the event that a stream begins with when entries after the one that the client saw last
// are gone: whatever it derived from events must be read anew. Its data are {"after", "next"}.
const TypeTrimmed = "log.trimmed"

// EventList is one page of the log, newest first. Next is empty on the last one.
type EventList struct {
	Items []shape.Event `json:"items"`
	Next  string        `json:"next"`
}

func (a *API) source() string { return "/sites/" + a.names().Of(a.Mesh.Self()) }

// Events returns the newest entries of the log, those before a given one when before is not 0.
func (a *API) Events(ctx context.Context, before uint64, limit int) (EventList, error) {
	if limit == 0 {
		limit = 100
	}
	if before == 0 {
		newest, err := a.newest(ctx)
		if err != nil {
			return EventList{}, err
		}
		before = newest + 1
	}
	var after uint64
	if n := uint64(limit) + 1; before > n {
		after = before - n
	}
	got, err := a.Store.Events(ctx, after, limit)
	if err != nil {
		return EventList{}, fmt.Errorf("read the event log: %w", err)
	}
	list, source := EventList{Items: []shape.Event{}}, a.source()
	for _, e := range slices.Backward(got) {
		if e.Seq < before {
			list.Items = append(list.Items, shape.EventOf(e, source))
		}
	}
	if n := len(list.Items); n > 0 && after > 0 {
		list.Next = list.Items[n-1].ID
	}
	return list, nil
}

// newest finds the number of the last entry: the log can only be read upwards, and its trimming leaves the upper
// end alone, so that galloping and halving find it in a few dozen reads.
func (a *API) newest(ctx context.Context) (uint64, error) {
	beyond := func(seq uint64) (bool, error) { // whether no entry is over seq
		got, err := a.Store.Events(ctx, seq, 1)
		if err != nil {
			return false, fmt.Errorf("read the event log: %w", err)
		}
		return len(got) == 0, nil
	}
	var low, high uint64 = 0, 1
	if end, err := beyond(0); err != nil || end {
		return 0, err
	}
	for {
		end, err := beyond(high)
		if err != nil {
			return 0, err
		}
		if end {
			break
		}
		low, high = high, high*2
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		end, err := beyond(mid)
		if err != nil {
			return 0, err
		}
		if end {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}
