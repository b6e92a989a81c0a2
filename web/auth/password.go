package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The cost of a password, as OWASP's cheat sheet on password storage has it for argon2id: 19 MiB, two passes, one lane.
const (
	hashMemory = 19 << 10 // KiB
	hashPasses = 2
	hashLanes  = 1
	saltBytes  = 16
	hashBytes  = 32
)

// The bounds of a password. It is long because it is the only factor; a bound above keeps hashing cheap.
const (
	minPassword = 12 // characters
	maxPassword = 512
)

// Hash returns the argon2id hash of a password in the PHC string format, or says why the password will not do.
func Hash(password string) (string, error) {
	switch n := utf8.RuneCountInString(password); {
	case n < minPassword:
		return "", fmt.Errorf("the password has %d characters: choose one of at least %d", n, minPassword)
	case len(password) > maxPassword:
		return "", fmt.Errorf("the password is over %d bytes", maxPassword)
	}
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails (crypto/rand)
	h := phc{memory: hashMemory, passes: hashPasses, lanes: hashLanes, salt: salt}
	h.sum = h.of(password, hashBytes)
	return h.String(), nil
}

// phc is a hash in the PHC string format.
type phc struct {
	memory, passes uint32
	lanes          uint8
	salt, sum      []byte
}

func (h phc) of(password string, n uint32) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.lanes, n)
}

func (h phc) String() string {
	e := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, h.lanes, e(h.salt), e(h.sum))
}

var errHash = errors.New("the hash is not one of argon2id; make it with \"skerry accounts add\"")

// parseHash reads what String wrote, within bounds that keep a check from taking the machine.
func parseHash(s string) (phc, error) {
	var h phc
	var version int
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return h, errHash
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return h, errHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.passes, &h.lanes); err != nil {
		return h, errHash
	}
	if h.memory < 8 || h.memory > 256<<10 || h.passes < 1 || h.passes > 16 || h.lanes < 1 || h.lanes > 8 {
		return h, errHash
	}
	var errSalt, errSum error
	h.salt, errSalt = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	h.sum, errSum = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	if errSalt != nil || errSum != nil || len(h.salt) < 8 || len(h.salt) > 64 || len(h.sum) < 16 || len(h.sum) > 64 {
		return h, errHash
	}
	return h, nil
}

// matches reports whether h is the hash of password; how long it takes does not tell how near it is.
func (h phc) matches(password string) bool {
	return subtle.ConstantTimeCompare(h.of(password, uint32(len(h.sum))), h.sum) == 1
}

// nobodys is compared with for accounts that do not exist, so that those take as long as others.
var nobodys = phc{memory: hashMemory, passes: hashPasses, lanes: hashLanes, salt: make([]byte, saltBytes), sum: make([]byte, hashBytes)}
