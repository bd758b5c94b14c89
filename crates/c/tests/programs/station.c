/* What a talker and a listener refuse, and bytes that come as they were sent, over datagrams to this machine itself.
 * Usage: station NETWORK PLAN OF_ANOTHER_PLAN PORT */
#include <ontick.h>
#include <stdio.h>
#include "expect.h"

int main(int argc, char **argv)
{
    ontick_talker *talker = NULL;
    ontick_listener *listener = NULL;
    ontick_talker_options talks;
    ontick_listener_options listens;
    ontick_talker_figures sent;
    ontick_listener_figures came;
    ontick_listener_strays strays;
    ontick_message message;
    unsigned char bytes[256];
    char to[64], at[64];
    size_t room = 0;
    int full = 0;
    uint64_t last = 0;

    EXPECT(argc == 5);
    snprintf(to, sizeof to, "setpoint=127.0.0.1:%s", argv[4]);
    snprintf(at, sizeof at, "127.0.0.1:%s", argv[4]);
    for (int i = 0; i < 256; i++) bytes[i] = (unsigned char)i;

    REFUSED(ontick_talker_open(NULL, &talker), ONTICK_ERROR_ARGUMENT, "the network's file is NULL");
    REFUSED(ontick_talker_options_init(NULL, sizeof talks), ONTICK_ERROR_ARGUMENT, "NULL");
    EXPECT(ontick_talker_options_init(&talks, sizeof talks) == ONTICK_OK);
    EXPECT(ontick_listener_options_init(&listens, sizeof listens) == ONTICK_OK);
    talks.network = listens.network = "/none/network.toml";
    talks.plan = listens.plan = argv[2];
    talks.station = "a";
    listens.station = "b";
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_NOT_FOUND, "/none/network.toml");
    talks.network = listens.network = argv[1];
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT, "name the interface that frames leave by");
    REFUSED(ontick_listener_open(&listens, &listener), ONTICK_ERROR_ARGUMENT, "name the interface that frames come by");
    talks.interfaces = "no-such-interface";
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_NOT_FOUND, "there is no interface");
    talks.interfaces = "one, two";
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT, "station a has 1 cable (a>s1)");
    talks.interfaces = NULL;
    talks.udp = "setpoint";
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT, "write STREAM=ADDRESS:PORT");
    talks.udp = "audio=127.0.0.1:5000";
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT, "station a sends no stream audio");
    talks.udp = to;
    talks.station = "c";
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT, "no station c; its stations are a, b");
    talks.station = "b";
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT, "station b sends no stream");
    talks.station = "a";
    talks.plan = argv[3];
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT,
            "the plan has no place for setpoint as the network has it now");
    talks.plan = argv[2];
    talks.target = "abacus";
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT, "there is no target abacus");
    talks.target = NULL;
    talks.policy = "fast";
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT, "fast");
    talks.policy = "other";
    talks.cpu = 100000;
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_NOT_FOUND, "CPU 100000 is not online");
    talks.cpu = ONTICK_CPU_KEEP;
    talks.base_time_ns = 1000000000;
    REFUSED(ontick_talker_open(&talks, &talker), ONTICK_ERROR_ARGUMENT, "the same schedule begins anew at");
    talks.base_time_ns = 0;
    listens.udp = "nowhere";
    REFUSED(ontick_listener_open(&listens, &listener), ONTICK_ERROR_ARGUMENT, "no address of datagrams");
    listens.udp = at;
    listens.station = "a";
    REFUSED(ontick_listener_open(&listens, &listener), ONTICK_ERROR_ARGUMENT, "no stream comes to station a");
    listens.station = "b";
    listens.reserved = 1;
    REFUSED(ontick_listener_open(&listens, &listener), ONTICK_ERROR_ARGUMENT, "reserved is 1");
    listens.reserved = 0;
    EXPECT(talker == NULL && listener == NULL);

    EXPECT(ontick_listener_open(&listens, &listener) == ONTICK_OK);
    EXPECT(ontick_talker_open(&talks, &talker) == ONTICK_OK);
    EXPECT(strcmp(ontick_talker_stream(talker, 0), "setpoint") == 0 && ontick_talker_stream(talker, 1) == NULL);
    EXPECT(strcmp(ontick_listener_stream(listener, 0), "setpoint") == 0 && ontick_listener_stream(listener, 1) == NULL);
    EXPECT(ontick_talker_room(talker, "setpoint", &room) == ONTICK_OK && room == 256);
    REFUSED(ontick_talker_set_payload(talker, "setpoint", bytes, 257), ONTICK_ERROR_ARGUMENT, "257 octets are too many");
    REFUSED(ontick_talker_set_payload(talker, "video", bytes, 1), ONTICK_ERROR_ARGUMENT, "sends no stream video");
    REFUSED(ontick_talker_set_payload(talker, "setpoint", NULL, 1), ONTICK_ERROR_ARGUMENT, "the payload is NULL");
    EXPECT(ontick_listener_next(listener, 0, &message) == ONTICK_NONE);
    REFUSED(ontick_listener_next(listener, 0, NULL), ONTICK_ERROR_ARGUMENT, "NULL");

    EXPECT(ontick_talker_set_payload(talker, "setpoint", bytes, sizeof bytes) == ONTICK_OK);
    EXPECT(ontick_talker_begin(talker) == ONTICK_OK);
    REFUSED(ontick_talker_begin(talker), ONTICK_ERROR_ARGUMENT, "has begun already");
    /* All of the bytes first, and nothing from some message on. */
    for (int turn = 0; turn < 20000; turn++) {
        EXPECT(ontick_listener_next(listener, ontick_now_ns() + 20000000000, &message) == ONTICK_OK);
        EXPECT(strcmp(message.stream, "setpoint") == 0 && message.arrived_ns >= message.planned_ns);
        EXPECT(turn == 0 || message.number > last);
        last = message.number;
        if (message.length == 0) break;
        EXPECT(message.length == sizeof bytes && memcmp(message.payload, bytes, sizeof bytes) == 0);
        if (++full == 20) EXPECT(ontick_talker_set_payload(talker, "setpoint", NULL, 0) == ONTICK_OK);
    }
    EXPECT(full >= 20 && message.length == 0);
    EXPECT(ontick_talker_end(talker) == ONTICK_OK && ontick_talker_end(talker) == ONTICK_OK);
    EXPECT(ontick_talker_get_figures(talker, "setpoint", &sent, sizeof sent) == ONTICK_OK);
    EXPECT(sent.sent + sent.left_out > last && sent.refused == 0);
    while (ontick_listener_next(listener, ontick_now_ns() + 200000000, &message) == ONTICK_OK) {}
    EXPECT(ontick_listener_get_figures(listener, "setpoint", &came, sizeof came) == ONTICK_OK);
    EXPECT(came.received == sent.sent && came.lost <= sent.left_out && came.out_of_order == 0 && came.duplicates == 0);
    EXPECT(came.max_latency_ns >= came.p99_latency_ns && came.p99_latency_ns > 0);
    REFUSED(ontick_listener_get_figures(listener, "video", &came, sizeof came), ONTICK_ERROR_ARGUMENT, "no stream video");
    EXPECT(ontick_listener_get_strays(listener, &strays, sizeof strays) == ONTICK_OK);
    REFUSED(ontick_talker_get_figures(talker, NULL, &sent, 0), ONTICK_ERROR_ARGUMENT, "sizeof(ontick_talker_figures)");
    REFUSED(ontick_listener_get_figures(listener, NULL, &came, 0), ONTICK_ERROR_ARGUMENT,
            "sizeof(ontick_listener_figures)");
    REFUSED(ontick_listener_get_figures(listener, NULL, NULL, sizeof came), ONTICK_ERROR_ARGUMENT, "NULL");
    REFUSED(ontick_listener_get_strays(listener, &strays, 0), ONTICK_ERROR_ARGUMENT, "sizeof(ontick_listener_strays)");
    EXPECT(strays.other_plan == 0 && strays.other_streams == 0 && strays.overflowed == 0);

    EXPECT(ontick_talker_close(&talker) == ONTICK_OK && talker == NULL);
    EXPECT(ontick_talker_close(&talker) == ONTICK_OK);
    EXPECT(ontick_listener_close(&listener) == ONTICK_OK && listener == NULL);
    REFUSED(ontick_talker_begin(talker), ONTICK_ERROR_ARGUMENT, "the handle is NULL");
    puts("refused what it should, and the bytes came as they were sent");
    return 0;
}
