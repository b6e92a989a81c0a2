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
	optionsGrace  = 1 // DeleteOptions.gracePeriodSeconds
	optionsDryRun = 5 // DeleteOptions.dryRun
)

// deletesDry reports whether options of a delete ask for a dry run.
func deletesDry(body []byte) bool {
	_, _, dry := option(body, optionsDryRun)
	return dry
}

// deletesAtOnce reports whether options of a delete leave no time.
func deletesAtOnce(body []byte) bool {
	_, seconds, ok := option(body, optionsGrace)
	return ok && seconds == 0
}

// option is a field of the options of a delete.
func option(body []byte, number uint64) (value []byte, n uint64, ok bool) {
	rest, ok := bytes.CutPrefix(body, []byte(magic))
	if !ok {
		return nil, 0, false
	}
	options, _, ok := field(rest, unknownRaw)
	if !ok {
		return nil, 0, false
	}
	return field(options, number)
}

// field returns the first field of a message that has this number: what it holds, or the number that it is.
func field(message []byte, number uint64) (value []byte, n uint64, ok bool) {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return nil, 0, false
		}
		message = message[n:]
		size := 0
		switch tag & 7 {
		case 0:
			v, length := binary.Uvarint(message)
			if length <= 0 {
				return nil, 0, false
			}
			if tag>>3 == number {
				return nil, v, true
			}
			size = length
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return nil, 0, false
			}
			if tag>>3 == number {
				return message[n : n+int(length)], 0, true
			}
			size = n + int(length)
		default:
			return nil, 0, false
		}
		if size > len(message) {
			return nil, 0, false
		}
		message = message[size:]
	}
	return nil, 0, false
}
