package storage

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/skerry/skerry/engine"
)

// What of a row is the application's content lies in the database encrypted, whether it is known to be secret or not: bodies,
// what they set, answers, changes of documents and what is made from them. Identifiers, names, times, states and reasons stay
// as they are, because lists go by them. Each value is bound to the row and column that it stands in, so that none can be put
// in another's place.

// place names where a value stands: its table and column, and what tells its row.
func place(column, row string) []byte {
	return appendPlace(make([]byte, 0, len(column)+1+len(row)+32), column, row)
}

func appendPlace(p []byte, column, row string) []byte {
	return append(append(append(p, column...), 0), row...)
}

// changePlace is that of a change's bytes.
func changePlace(document engine.DocumentID, epoch uint64, line engine.Line, number uint64) []byte {
	p := strconv.AppendUint(append(place("changes.bytes", string(document)), 0), epoch, 10)
	return strconv.AppendUint(append(append(append(p, 0), line...), 0), number, 10)
}

// forkPlace is that of one of the two changes that prove a fork.
func forkPlace(document engine.DocumentID, line engine.Line, i int) []byte {
	return strconv.AppendUint(append(append(append(place("forks.bytes", string(document)), 0), line...), 0), uint64(i), 10)
}

// seal encrypts a value; nil, which is no value, stays nil.
func (v *Vault) seal(b, place []byte) []byte {
	if b == nil {
		return nil
	}
	return v.sealIn(make([]byte, 0, len(b)+sealOverhead), place, b)
}

// open puts what seal was given in the place of what it has returned. To callers a value that does not open is a fault of the
// disk, and not the refusal of a key.
func (v *Vault) open(b *[]byte, place []byte) error {
	if *b == nil {
		return nil
	}
	opened, err := v.unsealIn(inPlace(*b), place, *b)
	if err != nil {
		return fmt.Errorf("%w: %v", engine.ErrStorage, err)
	}
	*b = opened
	return nil
}

// checked is what the key of a database opens.
const checked = "the key of this database"

// unlock opens the vault that the database is encrypted under. Another key than its own is an error, and changes nothing.
func (w *writer) unlock(dir, path string) (*Vault, error) {
	check, err := w.bytes(readVault)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return nil, err
	}
	v, openErr := openVault(dir, path, err != nil)
	if openErr != nil {
		return nil, openErr
	}
	if err == nil {
		return v, v.open(&check, place("vault.sealed", ""))
	}
	return v, w.exec(addVault, v.seal([]byte(checked), place("vault.sealed", "")))
}
