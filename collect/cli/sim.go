package cli

import (
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"assay/collect/simengine"
)

func simCommand(env Env) *cobra.Command {
	var listen, profile, model string
	config := simengine.Config{DiscardLogs: true}
	cmd := &cobra.Command{
		Use: "sim --listen ADDR", Args: exactly(0),
		Short: "serve a simulated engine until interrupted",
		Long: "Serve a simulated OpenAI-compatible engine until interrupted.\n\nProfiles: " + strings.Join(simengine.ProfileNames(), ", ") +
			".\n\nFaults: NAME[=N][@KEY=VALUE[,KEY=VALUE...]] with the keys seed, index and nth of a request, as in cut=20@index=2.\n" +
			"The number shown is the default of N. Beside it stand the field cases that the fault plays.\n\n" + simengine.FaultList(),
		RunE: func(*cobra.Command, []string) error {
			p, ok := simengine.LookupProfile(profile)
			if !ok {
				return Usage(fmt.Errorf("there is no profile %q; take one of %s", profile, strings.Join(simengine.ProfileNames(), ", ")))
			}
			config.Profile, config.Model = p, model
			engine, err := simengine.New(config)
			if err != nil {
				return Usage(err)
			}
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("listen on %s: %w; name a free address with --listen", listen, err)
			}
			ctx, release := Signals(env.Stderr)
			defer release()
			fmt.Fprintf(env.Stdout, "http://%s/v1\n", listener.Addr())
			return engine.Serve(ctx, listener)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	flags.StringVar(&profile, "profile", "glm53-baseline", "how the engine behaves")
	flags.StringVar(&model, "model", "", "served model id (default: the plan's for this profile)")
	flags.Float64Var(&config.TimeScale, "time-scale", 1, "shorten all waiting by this factor")
	flags.Float64Var(&config.OutputScale, "output-scale", 1, "multiply the number of drawn output tokens")
	flags.Float64Var(&config.PrefillScale, "prefill-scale", 1, "multiply the prefill speed")
	flags.Float64Var(&config.DecodeScale, "decode-scale", 1, "multiply the decode speed; below 1 keeps chunks apart under a large time scale")
	flags.Uint64Var(&config.Seed, "seed", 1, "seed of every drawn text, length and pause")
	flags.StringArrayVar(&config.Faults, "fault", nil, "fault to show, see above (repeatable)")
	return cmd
}
