package p2p

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"
	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// Messages on streams are frames: the length as an unsigned varint, then CBOR (RFC 8949) of that length. The decoder
// is strict: no duplicate keys, no unknown fields, no tags, no indefinite lengths, nothing after the value.

var encMode, decMode = modes()

func modes() (cbor.EncMode, cbor.DecMode) {
	enc, err := cbor.EncOptions{
		Sort:    cbor.SortCoreDeterministic,
		Time:    cbor.TimeRFC3339Nano,
		TimeTag: cbor.EncTagNone,
	}.EncMode()
	if err != nil {
		panic(err) // the options are constants
	}
	dec, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxNestedLevels:   8,
		MaxArrayElements:  16 << 10,
		MaxMapPairs:       8 << 10,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return enc, dec
}

func encodeCBOR(v any) ([]byte, error) { return encMode.Marshal(v) }

func decodeCBOR(b []byte, v any) error {
	if err := decMode.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrRefused, err)
	}
	return nil
}

// encodeFrame returns v as one frame, to be written in one piece.
func encodeFrame(v any, limit int) ([]byte, error) {
	b, err := encodeCBOR(v)
	if err != nil {
		return nil, fmt.Errorf("encode frame: %w", err)
	}
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

// readFrame reads one frame of at most limit bytes into v. It returns io.EOF when the stream ends before a frame,
// and ErrRefused for a frame that is not what it must be.
func readFrame(r *bufio.Reader, v any, limit int) error {
	n, err := binary.ReadUvarint(r)
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	if n == 0 || n > uint64(limit) {
		return fmt.Errorf("read frame: %w: %d bytes announced, %d allowed", engine.ErrRefused, n, limit)
	}
	// Memory grows with what arrives, not with what is announced.
	var b []byte
	for uint64(len(b)) < n {
		have := len(b)
		b = append(b, make([]byte, min(n-uint64(have), 64<<10))...)
		if _, err := io.ReadFull(r, b[have:]); err != nil {
			return fmt.Errorf("read frame: %w", err)
		}
	}
	if err := decodeCBOR(b, v); err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	return nil
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
