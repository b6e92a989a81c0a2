package door

import "errors"

// longest is the most bytes of a line that says how long a chunk is, and most of all that comes after the last chunk.
const longestLine, longestTrailer = 256, 64 << 10

var errChunk = errors.New("the chunks of the body are malformed")

// chunks finds the end of a body in chunks (RFC 9112, 7.1), strictly: lines end with CR and LF, sizes are digits and nothing else.
type chunks struct {
	state   byte
	line    int   // bytes of the line of a size so far
	left    int64 // of this chunk
	trailer []byte
	data    *[]byte // gets what is in the chunks, unless nil
}

const (
	inSize = iota
	inExtension
	inSizeEnd
	inData
	inDataCR
	inDataLF
	inTrailer
	inNothing // the body has ended
)

// scan looks at what comes next. Used is how much of it belongs to the body; of that, pass bytes are its chunks, the last one included,
// and the rest is of the trailer, which is kept whole.
func (c *chunks) scan(b []byte) (pass, used int, err error) {
	i := 0
	for i < len(b) && c.state < inTrailer {
		if c.state == inData {
			n := int(min(c.left, int64(len(b)-i)))
			if c.data != nil {
				*c.data = append(*c.data, b[i:i+n]...)
			}
			i += n
			if c.left -= int64(n); c.left == 0 {
				c.state = inDataCR
			}
			continue
		}
		if !c.step(b[i]) {
			return i, i, errChunk
		}
		i++
	}
	pass = i
	for i < len(b) && c.state == inTrailer {
		c.trailer = append(c.trailer, b[i])
		i++
		switch n := len(c.trailer); {
		case n > longestTrailer, c.trailer[n-1] == '\n' && (n < 2 || c.trailer[n-2] != '\r'):
			return pass, i, errChunk
		case n == 2 && string(c.trailer) == "\r\n", n > 3 && string(c.trailer[n-4:]) == "\r\n\r\n":
			c.state = inNothing
		}
	}
	return pass, i, nil
}

// step takes one byte between two chunks' data.
func (c *chunks) step(b byte) bool {
	switch c.state {
	case inSize:
		if d := hex(b); d >= 0 {
			if c.line++; c.line > 15 {
				return false
			}
			c.left = c.left<<4 | int64(d)
			return true
		}
		if c.line == 0 {
			return false
		}
		switch b {
		case '\r':
			c.state = inSizeEnd
		case ';':
			c.state = inExtension
		default:
			return false
		}
		return true
	case inExtension:
		if b == '\r' {
			c.state = inSizeEnd
			return true
		}
		c.line++
		return c.line <= longestLine && values[b] && b < 0x80
	case inSizeEnd:
		if c.state = inData; c.left == 0 {
			c.state = inTrailer
		}
		c.line = 0
		return b == '\n'
	case inDataCR:
		c.state = inDataLF
		return b == '\r'
	default: // inDataLF
		c.state = inSize
		return b == '\n'
	}
}

func (c *chunks) done() bool { return c.state == inNothing }

func hex(b byte) int {
	switch {
	case '0' <= b && b <= '9':
		return int(b - '0')
	case 'a' <= b && b <= 'f':
		return int(b-'a') + 10
	case 'A' <= b && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}
