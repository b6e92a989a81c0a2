package storage

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// listJSON encodes a list that SQL looks into; empty for none.
func listJSON[T any](v []T) (string, error) {
	if len(v) == 0 {
		return "", nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// parseJSON reads what listJSON has made.
func parseJSON[T any](text string) (v []T, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &v)
	return v, err
}

// lines writes short texts without line ends, one a line, and parseLines reads them.
func lines[T ~string](list []T) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return string(list[0])
	}
	return string(appendLines(nil, list))
}

func appendLines[T ~string](b []byte, list []T) []byte {
	for i, s := range list {
		if i > 0 {
			b = append(b, '\n')
		}
		b = append(b, s...)
	}
	return b
}

func parseLines[T ~string](text string) (list []T) {
	if text == "" {
		return nil
	}
	for s := range strings.SplitSeq(text, "\n") {
		list = append(list, T(s))
	}
	return list
}

// documentKey is a document's identifier as it is stored.
type documentKey [32]byte

func keyOf(id engine.DocumentID) (k documentKey, err error) {
	if !id.Valid() {
		return k, fmt.Errorf("%.80q is no document", string(id))
	}
	_, err = hex.Decode(k[:], []byte(id))
	return k, err
}

func documentOf(key []byte) engine.DocumentID { return engine.DocumentID(hex.EncodeToString(key)) }

// given keeps empty bytes from being stored as NULL where the column has none.
func given(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// nanos and instant turn times into columns and back, in UTC. The zero time is 0.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func instant(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
