package hostile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// reader reads frames as they come.
type reader struct{ r *bufio.Reader }

func newReader(r io.Reader) reader { return reader{bufio.NewReader(r)} }

func (r reader) frame() ([]byte, error) {
	n, err := binary.ReadUvarint(r.r)
	if err != nil {
		return nil, err
	}
	if n > 16<<20 {
		return nil, errors.New("a huge frame")
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r.r, b)
	return b, err
}
