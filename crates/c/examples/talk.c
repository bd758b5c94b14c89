/* Sends a counter in a stream of a planned network, each millisecond a new one:
 *     talk NETWORK PLAN STATION WAY STREAM SECONDS
 * WAY is an interface (eth0), or the stream with an address (setpoint=192.0.2.7:5000), to which it goes as datagrams. */
#include <ontick.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "talk: %s\n", ontick_last_message());
        exit(2);
    }
}

int main(int argc, char **argv)
{
    ontick_talker *talker;
    ontick_talker_options options;
    ontick_talker_figures figures;
    ontick_cycle *cycle;
    ontick_cycle_options period;
    ontick_tick tick;

    if (argc != 7) {
        fprintf(stderr, "usage: talk NETWORK PLAN STATION WAY STREAM SECONDS\n");
        return 2;
    }
    must(ontick_talker_options_init(&options, sizeof options));
    options.network = argv[1];
    options.plan = argv[2];
    options.station = argv[3];
    if (strchr(argv[4], '=') != NULL) options.udp = argv[4];
    else options.interfaces = argv[4];
    must(ontick_talker_open(&options, &talker));
    must(ontick_talker_set_payload(talker, argv[5], "begins", 6));
    must(ontick_talker_begin(talker)); /* with the next whole second; from here on each message leaves at its time */
    for (int i = 0; ontick_talker_refusal(talker, i) != NULL; i++) fprintf(stderr, "%s\n", ontick_talker_refusal(talker, i));

    must(ontick_cycle_options_init(&period, sizeof period));
    period.interval_ns = 1000000;
    must(ontick_cycle_new(&period, &cycle));
    for (long left = 1000 * atol(argv[6]); left > 0; left--) {
        char text[32];
        must(ontick_cycle_next(cycle, &tick));
        int length = snprintf(text, sizeof text, "count %ld", (long)tick.index);
        must(ontick_talker_set_payload(talker, argv[5], text, (size_t)length));
    }
    must(ontick_cycle_free(&cycle));

    must(ontick_talker_end(talker));
    must(ontick_talker_get_figures(talker, NULL, &figures, sizeof figures));
    printf("%.0f sent, %.0f refused, %.0f left out, at most %.0f ns late\n", (double)figures.sent, (double)figures.refused,
           (double)figures.left_out, (double)figures.max_late_ns);
    must(ontick_talker_close(&talker));
    return 0;
}
