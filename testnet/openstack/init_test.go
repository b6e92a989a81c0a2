//go:build openstack

package openstack

import (
	"regexp"
	"testing"
)

// initByClouds makes a site of what a clouds.yaml leads to, starts its agent, and has the image service answer through it.
func initByClouds(t *testing.T, c cloud) {
	out, err := blocks(t, c)("paris", initialized)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !regexp.MustCompile(`(?s)wrote .*agent\.yaml.*wrote .*catalog\.yaml.*third .*this site.*\{"images": \[.*stopped: 0\n$`).MatchString(out) {
		t.Errorf("the site does not answer: %s", out)
	}
}

const initialized = `
mkdir third
cd third
cat > clouds.yaml <<END
clouds:
  other: {auth: {auth_url: http://192.0.2.1:5000/v3}}
  ours:
    region_name: bare
    auth: {auth_url: $OS_AUTH_URL, username: $OS_USERNAME, password: $OS_PASSWORD, project_name: admin, user_domain_id: default, project_domain_id: default}
END
skerry init --yes --site third --clouds clouds.yaml --cloud ours --api-listen 127.0.0.1:8790 --listen 127.0.0.1:9790 --mesh-port 4790 2>&1
skerry agent --config agent.yaml > agent.log 2>&1 &
curl -s --retry 60 --retry-all-errors --retry-delay 1 --fail http://127.0.0.1:8790/readyz > /dev/null || { cat agent.log; exit 1; }
skerry --api http://127.0.0.1:8790 sites
for image in $(sed -n 's/^    listen: "*\([0-9.:]*\).*/\1/p' agent.yaml); do
	curl -s -H "X-Auth-Token: $(cat agent-token)" http://$image/v2/images
done
kill $!
wait $! && status=0 || status=$?
echo
echo "stopped: $status"
`
