/* Prints the messages that come to a station of a planned network:
 *     listen NETWORK PLAN STATION WAY MESSAGES
 * WAY is an interface (eth0), or an address at which datagrams are received (0.0.0.0:5000). */
#include <ontick.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int must(int status)
{
    if (status < 0) {
        fprintf(stderr, "listen: %s\n", ontick_last_message());
        exit(2);
    }
    return status;
}

int main(int argc, char **argv)
{
    ontick_listener *listener;
    ontick_listener_options options;
    ontick_listener_figures figures;
    ontick_message message;

    if (argc != 6) {
        fprintf(stderr, "usage: listen NETWORK PLAN STATION WAY MESSAGES\n");
        return 2;
    }
    must(ontick_listener_options_init(&options, sizeof options));
    options.network = argv[1];
    options.plan = argv[2];
    options.station = argv[3];
    if (strchr(argv[4], ':') != NULL) options.udp = argv[4];
    else options.interfaces = argv[4];
    must(ontick_listener_open(&options, &listener));
    fprintf(stderr, "listening\n");
    for (long left = atol(argv[5]); left > 0; left--) {
        /* none within ten seconds: nobody talks any more */
        if (must(ontick_listener_next(listener, ontick_now_ns() + 10000000000, &message)) == ONTICK_NONE) break;
        printf("%s %.0f %.0f ns after its time: ", message.stream, (double)message.number,
               (double)message.arrived_ns - (double)message.planned_ns);
        fwrite(message.payload, 1, message.length, stdout);
        putchar('\n');
    }
    for (int i = 0; ontick_listener_stream(listener, i) != NULL; i++) {
        const char *stream = ontick_listener_stream(listener, i);
        must(ontick_listener_get_figures(listener, stream, &figures, sizeof figures));
        printf("%s: %.0f received, %.0f lost, %.0f late, %.0f out of order\n", stream, (double)figures.received,
               (double)figures.lost, (double)figures.late, (double)figures.out_of_order);
    }
    must(ontick_listener_close(&listener));
    return 0;
}
