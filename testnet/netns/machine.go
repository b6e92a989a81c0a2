package netns

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Machine runs a command as the first process of a machine of its own: with its mounts, its network and its processes. It is up once the
// command has printed a line "up". Target is what nsenter enters it by (--mount --net --pid). All that runs there ends with end.
func Machine(argv ...string) (target string, end func(), err error) {
	c := exec.Command("unshare", append([]string{"--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"}, argv...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, fmt.Errorf("start a machine: %w", err)
	}
	if err := c.Start(); err != nil {
		return "", nil, fmt.Errorf("start a machine: %w", err)
	}
	end = func() {
		_ = c.Process.Signal(syscall.SIGKILL) // and with it all that is in its namespaces
		_ = c.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && line != "up\n" {
		err = errors.New("it says " + line)
	}
	var children []byte
	if err == nil {
		children, err = os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", c.Process.Pid))
	}
	if err != nil {
		end()
		return "", nil, fmt.Errorf("a machine does not come up: %w", err)
	}
	return strings.TrimSpace(string(children)), end, nil
}
