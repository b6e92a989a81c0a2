package p2p

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// Messages on streams are frames: the length as an unsigned varint, then CBOR (RFC 8949) of that length, as engine.Encode
// makes it.

// encodeFrame returns v as one frame, to be written in one piece.
func encodeFrame(v any, limit int) ([]byte, error) {
	b := engine.Encode(v)
	if len(b) > limit {
		return nil, fmt.Errorf("encode frame: %w: %d bytes", engine.ErrTooLarge, len(b))
	}
	frame := binary.AppendUvarint(make([]byte, 0, len(b)+binary.MaxVarintLen32), uint64(len(b)))
	return append(frame, b...), nil
}

func writeFrame(w io.Writer, v any, limit int) error {
	frame, err := encodeFrame(v, limit)
	if err != nil {
		return err
	}
	if _, err := w.Write(frame); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// frameReader reads the frames of one stream.
type frameReader struct {
	r   *bufio.Reader
	buf []byte // of the last frame, if it was not large
}

// keepBuffer is up to how many bytes of buffer stay with a stream between two frames.
const keepBuffer = 64 << 10

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 32<<10)}
}

// length waits for the next frame and returns its length, at most limit. It returns io.EOF when the stream ends before a
// frame, and ErrRefused for a frame that is not what it must be.
func (f *frameReader) length(limit int) (int, error) {
	n := uint64(0)
	for shift := 0; ; shift += 7 {
		digits, err := f.r.ReadByte()
		if errors.Is(err, io.EOF) {
			if shift == 0 {
				return 0, io.EOF
			}
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, fmt.Errorf("read frame: %w", err)
		}
		n |= uint64(digits&0x7f) << shift
		if n > uint64(limit) || shift > 28 || digits < 0x80 && n == 0 {
			return 0, fmt.Errorf("read frame: %w: %d bytes announced, %d allowed", engine.ErrRefused, n, limit)
		}
		if digits < 0x80 {
			return int(n), nil
		}
	}
}

// buffered returns how many bytes have come that were not read.
func (f *frameReader) buffered() int { return f.r.Buffered() }

// body returns the n bytes of a frame. They are valid until the next call.
func (f *frameReader) body(n int) ([]byte, error) {
	b := f.buf[:0]
	if cap(b) > keepBuffer {
		b = nil
	}
	for len(b) < n { // memory grows with what arrives, not with what is announced
		have := len(b)
		next := min(n-have, max(have, keepBuffer))
		b = append(b, make([]byte, next)...)
		if _, err := io.ReadFull(f.r, b[have:]); err != nil {
			return nil, fmt.Errorf("read frame: %w", err)
		}
	}
	f.buf = b
	return b, nil
}

// read reads one frame into v, as length and body do.
func (f *frameReader) read(v any, limit int) error {
	n, err := f.length(limit)
	if err != nil {
		return err
	}
	b, err := f.body(n)
	if err != nil {
		return err
	}
	if err := decode(b, v); err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	return nil
}

// decode decodes what another site sent. The error wraps ErrRefused.
func decode(b []byte, v any) error {
	if n, most := items(b), fewItems+len(b)/minItem; n > most {
		return fmt.Errorf("%w: %d items in %d bytes", engine.ErrRefused, n, len(b))
	}
	return engine.Decode(b, v)
}

// items counts the data items of a CBOR value (RFC 8949, section 3). What is not well-formed is counted somehow: it does not
// decode.
func items(b []byte) (n int) {
	for ; len(b) > 0; n++ {
		kind, argument := b[0]>>5, uint64(b[0]&31)
		b = b[1:]
		if argument >= 24 {
			size := 1 << ((argument - 24) & 3)
			if len(b) < size {
				return n
			}
			argument = 0
			for _, digit := range b[:size] {
				argument = argument<<8 | uint64(digit)
			}
			b = b[size:]
		}
		if kind == 2 || kind == 3 { // a string
			if argument > uint64(len(b)) {
				return n
			}
			b = b[argument:]
		}
	}
	return n
}

// end closes a stream whose protocol ran to its end, and resets any other, so that the other side learns of it. To
// reset a closed stream would take back what is still on its way.
func end(s network.Stream, whole *bool) {
	if *whole {
		_ = s.Close()
	} else {
		_ = s.Reset()
	}
}
