/* What --json prints: ASCII only, numbers as numbers, what is absent as null. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/json.h"
#include "core/cmd/json_out.h"

static void ascii_is(const char *text, const char *want)
{
    struct buf b = {0};
    json_ascii(text, &b);
    assert_string_equal(buf_str(&b), want);
    buf_free(&b);
}

static void test_ascii(void **state)
{
    (void)state;
    ascii_is("", "");
    ascii_is("{\"a\":1}\n", "{\"a\":1}\n");
    ascii_is("\xc3\xbc", "\\u00fc");
    ascii_is("\x7f", "\\u007f");
    ascii_is("\xc2\x9b", "\\u009b"); /* a control character of terminals */
    ascii_is("\xe2\x80\xae", "\\u202e");
    ascii_is("\xf0\x9f\x98\x80", "\\ud83d\\ude00");
    ascii_is("a\xff"
             "b\xc3",
             "a\\ufffdb\\ufffd");
}

static void member_is(cJSON *o, const char *want)
{
    char *text = json_text(o);
    assert_string_equal(text, want);
    free(text);
    cJSON_Delete(o);
}

static void test_members(void **state)
{
    (void)state;
    cJSON *o = cJSON_CreateObject();
    out_i64(o, "a", INT64_MIN);
    out_i64(o, "b", INT64_MAX);
    out_id(o, "c", 0);
    out_id(o, "d", -1);
    out_num(o, "e", 1.5);
    out_num(o, "f", (double)NAN);
    out_num(o, "g", (double)INFINITY);
    out_text(o, "h", "x");
    out_text(o, "i", "");
    out_text(o, "j", NULL);
    member_is(o, "{\"a\":-9223372036854775808,\"b\":9223372036854775807,\"c\":0,\"d\":null,"
                 "\"e\":1.5,\"f\":null,\"g\":null,\"h\":\"x\",\"i\":null,\"j\":null}");
}

static void test_reply(void **state)
{
    (void)state;
    cJSON *reply = cJSON_Parse("{\"type\":\"result\",\"id\":\"7\",\"verdict\":\"wrong\","
                               "\"index\":\"9007199254740993\",\"parts\":[]}");
    member_is(json_reply(reply), "{\"verdict\":\"wrong\",\"index\":9007199254740993}");
    member_is(json_reply(NULL), "null");
    assert_string_equal(json_str(reply, "type", ""), "result"); /* untouched */
    cJSON_Delete(reply);
}

static void test_event(void **state)
{
    (void)state;
    struct event ev = event_make(EV_TRY);
    ev.seq = 3;
    ev.id = 2;
    ev.code = VERDICT_WRONG;
    ev.lo = 0.5;
    ev.body = "{\"sets\":5}";
    member_is(json_event(&ev, true),
              "{\"seq\":3,\"time_ns\":0,\"kind\":\"try\",\"id\":2,\"ref\":0,\"code\":8,"
              "\"verdict\":\"wrong\",\"n\":0,\"x\":null,\"lo\":0.5,\"hi\":null,\"y\":null,"
              "\"hash\":null,\"text\":null,\"body\":{\"sets\":5}}");
    ev.body = "no JSON";
    cJSON *o = json_event(&ev, true);
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(o, "body")));
    cJSON_Delete(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ascii),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_reply),
        cmocka_unit_test(test_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
