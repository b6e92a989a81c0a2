package kubernetes

import (
	"bytes"
	"encoding/binary"
)

// Of Kubernetes' protobuf only the options of a delete are read here, to see whether it is a dry run: for everything else the API server
// is asked (Dialect.Rehearsal).
const (
	magic         = "k8s\x00"
	unknownRaw    = 2 // runtime.Unknown.raw
	optionsDryRun = 5 // DeleteOptions.dryRun
)

// deletesDry reports whether options of a delete ask for a dry run.
func deletesDry(body []byte) bool {
	rest, ok := bytes.CutPrefix(body, []byte(magic))
	if !ok {
		return false
	}
	options, ok := field(rest, unknownRaw)
	if !ok {
		return false
	}
	_, dry := field(options, optionsDryRun)
	return dry
}

// field returns the first field of a message that has this number and holds bytes.
func field(message []byte, number uint64) ([]byte, bool) {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return nil, false
		}
		message = message[n:]
		size := 0
		switch tag & 7 {
		case 0:
			if _, size = binary.Uvarint(message); size <= 0 {
				return nil, false
			}
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return nil, false
			}
			if tag>>3 == number {
				return message[n : n+int(length)], true
			}
			size = n + int(length)
		default:
			return nil, false
		}
		if size > len(message) {
			return nil, false
		}
		message = message[size:]
	}
	return nil, false
}
