package storage

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

// commitForever commits batches from eight callers and names each that was acknowledged.
func commitForever(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	first, err := strconv.Atoi(os.Getenv("STORAGE_FIRST"))
	if err != nil {
		return err
	}
	var next atomic.Int64
	next.Store(int64(first))
	failed := make(chan error)
	for range 8 {
		go func() {
			for {
				n := int(next.Add(1))
				if err := s.Commit(context.Background(), sample(n)); err != nil {
					failed <- err
					return
				}
				fmt.Println(n) // one write, so lines of callers do not mix
			}
		}()
	}
	return <-failed
}

func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	dir := t.TempDir()
	var acknowledged []int
	last := 0
	for _, until := range []int{1, 40, 300} {
		t.Setenv("STORAGE_FIRST", strconv.Itoa(last))
		lines, kill := startChild(t, "commit", dir)
		for i := 0; lines.Scan(); i++ {
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				continue // cut off by the kill
			}
			acknowledged = append(acknowledged, n)
			last = max(last, n)
			if i == until {
				kill() // in the middle of a commit; go on reading what it had said
			}
		}
		last += 100 // beyond what was under way
		s := open(t, dir)
		for _, n := range acknowledged {
			if ok, err := has(s, n); !ok || err != nil {
				t.Fatalf("batch %d of %d, acknowledged before the kill: there %v, %v", n, len(acknowledged), ok, err)
			}
		}
		for n := range last { // the others are whole or not there
			if _, err := has(s, n); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
	}
}
