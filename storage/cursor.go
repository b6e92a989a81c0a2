package storage

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/skerry/skerry/engine"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// position is the place in a list after which the next page begins: the time and number of the last row, and its name where the list
// is ordered by that. Rows that come or go meanwhile move no others, so pages neither repeat nor skip.
type position struct {
	at, n int64
	name  string
}

// listed is a row of a list with its place.
type listed[T any] struct {
	row T
	at  position
}

// The first byte of a cursor says of which list it is.
const (
	resourceCursor  = 'r'
	oldestCursor    = 'a'
	nameCursor      = 'n'
	changeCursor    = 'u'
	operationCursor = 'o'

	oldestOperationCursor = 'p'
	conflictCursor        = 'c'
)

func encodeCursor(list byte, p position) string {
	b := binary.BigEndian.AppendUint64([]byte{list}, uint64(p.at))
	b = binary.BigEndian.AppendUint64(b, uint64(p.n))
	return base64.RawURLEncoding.EncodeToString(append(b, p.name...))
}

// decodeCursor returns ErrRefused for what encodeCursor did not make for this list.
func decodeCursor(list byte, cursor string) (position, error) {
	// The decoder skips line ends.
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(b) < 17 || len(b) > 17 && list != nameCursor || b[0] != list {
		return position{}, fmt.Errorf("%w: cursor %q is not one of this list in this order", engine.ErrRefused, cursor)
	}
	return position{int64(binary.BigEndian.Uint64(b[1:9])), int64(binary.BigEndian.Uint64(b[9:17])), string(b[17:])}, nil
}

// pageSize applies the default and the bound of the filters.
func pageSize(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
}

// page cuts rows, which may be one more than the limit, to a page and returns the cursor of the next one.
func page[T any](list byte, rows []listed[T], limit int) ([]T, string) {
	limit = pageSize(limit)
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = encodeCursor(list, rows[limit-1].at)
	}
	all := make([]T, len(rows))
	for i, r := range rows {
		all[i] = r.row
	}
	return all, next
}
