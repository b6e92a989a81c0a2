package openstack

import "testing"

func TestRefusal(t *testing.T) {
	media, body := Refuser{}.Refusal(422, "unknown-site", "no site lyon in {image: paris & lyon}")
	// Clients take every member for an object with a message.
	want := `{"error":{"code":422,"message":"no site lyon in {image: paris & lyon}","title":"Unprocessable Entity","type":"unknown-site"}}` + "\n"
	if media != "application/json" || string(body) != want {
		t.Errorf("got %s %s", media, body)
	}
}
