package p2p

import (
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func testToken(t testing.TB) Token {
	_, id := testKey(t)
	return Token{
		Mesh: "mesh", Founder: id, Inviter: id, Addresses: []string{"/ip4/127.0.0.1/udp/4701/quic-v1", "/ip4/127.0.0.1/tcp/4701"},
		Invitation: "invitation", Secret: []byte(testSecret), Expires: time.Unix(1_800_000_000, 0),
	}
}

func TestTokenRoundTrip(t *testing.T) {
	want := testToken(t)
	text, err := EncodeToken(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeToken(" " + text + "\n")
	if err != nil {
		t.Fatal(err)
	}
	want.Unix = want.Expires.Unix()
	if !got.Expires.Equal(want.Expires) {
		t.Errorf("it expires at %v, not %v", got.Expires, want.Expires)
	}
	got.Expires = want.Expires
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
}

func TestTokenIsGarbled(t *testing.T) {
	text, err := EncodeToken(testToken(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "does not begin"},
		"another thing": {"https://example.org", "does not begin"},
		"cut off":       {text[:len(text)-7], "garbled or incomplete"},
		"with more":     {text + "AAAA", "garbled or incomplete"},
		"no base64":     {text[:20] + "!" + text[21:], "garbled or incomplete"},
		"over long":     {text + strings.Repeat("A", maxToken), "over"},
	} {
		if _, err := DecodeToken(c.text); !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*Token){
		"no mesh":      func(k *Token) { k.Mesh = "" },
		"no founder":   func(k *Token) { k.Founder = "" },
		"no inviter":   func(k *Token) { k.Inviter = "nobody" },
		"no address":   func(k *Token) { k.Addresses = nil },
		"no multiaddr": func(k *Token) { k.Addresses = []string{"localhost"} },
		"short secret": func(k *Token) { k.Secret = []byte("short") },
	} {
		k := testToken(t)
		change(&k)
		if _, err := EncodeToken(k); err == nil {
			t.Errorf("%s: encoded", name)
		}
		k.Unix = 1
		if _, err := DecodeToken(tokenPrefix + base64.RawURLEncoding.EncodeToString(engine.Encode(k))); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzToken looks for texts that decode and are not what EncodeToken makes of the result.
func FuzzToken(f *testing.F) {
	text, err := EncodeToken(testToken(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(tokenPrefix)
	f.Add(tokenPrefix + "oA")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := DecodeToken(text)
		if err != nil {
			if !errors.Is(err, ErrToken) {
				t.Errorf("error of another kind: %v", err)
			}
			return
		}
		again, err := EncodeToken(token)
		if err != nil {
			t.Fatalf("what decodes does not encode: %v", err)
		}
		same, err := DecodeToken(again)
		if err != nil || !reflect.DeepEqual(same, token) {
			t.Fatalf("%+v became %+v: %v", token, same, err)
		}
	})
}
