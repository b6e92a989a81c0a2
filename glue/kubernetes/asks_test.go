package kubernetes

import "testing"

// TestClosed: that a namespace is being deleted is told from what the API server refuses for other reasons.
func TestClosed(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"new\" is forbidden: unable to create new content in namespace goes because it is being terminated","reason":"Forbidden","details":{"name":"new","kind":"configmaps","causes":[{"reason":"NamespaceTerminating","message":"namespace goes is being terminated","field":"metadata.namespace"}]},"code":403}`: true,
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"NamespaceTerminating\" is forbidden: User \"dora\" cannot create resource","reason":"Forbidden","details":{"name":"NamespaceTerminating","kind":"configmaps"},"code":403}`:                                                                                                                                 false,
		`NamespaceTerminating`: false,
		``:                     false,
	} {
		if (Dialect{}).Closed([]byte(answer)) != want {
			t.Errorf("%s: want %v", answer, want)
		}
	}
}
