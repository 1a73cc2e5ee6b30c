#include "autograd/gradcheck.h"

#include <math.h>
#include <string.h>

#include "autograd/ops.h"
#include "autograd/tape_internal.h"
#include "tensor/rng.h"

/* One real or integer input. The buffers have its elements. */
typedef struct operand {
    const tg_view *view;
    tg_real *direction;
    tg_real *junk; /* another contribution to the gradient */
    tg_real *moved;
    tg_var var;
} operand;

/* One check. */
typedef struct check {
    tg_tape *tape;
    tgi_arena arena;
    tg_gradcheck_function function;
    void *user;
    tg_gradcheck_options options;
    tg_gradcheck_report report;
    tg_rng rng;
    int count;
    operand *operands;
    tg_var *vars;
    tg_real *cotangent;
    int64_t output_count;
} check;

/* How the gradient of an input is asked for. */
typedef enum way {
    TOGETHER, /* all inputs want one, into fresh memory */
    ON_TOP,   /* the same, and another use of the input has contributed before */
    ALONE,    /* the others want none */
    WAYS
} way;

static void draw(check *c, int64_t n, tg_real *out) {
    tg_rng_normal(&c->rng, n, 0, 1, out, NULL);
}

static tg_real *buffer(check *c, int64_t count) {
    return tgi_arena_take(&c->arena, (size_t)count * sizeof(tg_real));
}

static tg_status tape_failed(const check *c, tg_error *error) {
    const tg_error *cause = tg_tape_error(c->tape);
    return tg_fail(error, cause->status, "gradcheck: %.200s", cause->message);
}

/* Puts the inputs on the tape, input `moving` shifted by s along its direction (-1: none), and
 * records f. Those that `wants` allows are variables. */
static tg_var record(check *c, int moving, double s, int only) {
    tg_tape_reset(c->tape);
    for (int i = 0; i < c->count; i++) {
        operand *o = &c->operands[i];
        if (o->view->type == TG_INT32) {
            c->vars[i] = tg_integers(c->tape, o->view->shape, o->view->integer);
            continue;
        }
        for (int64_t j = 0; j < o->view->count; j++)
            o->moved[j] =
                o->view->real[j] + (i == moving ? (tg_real)(s * (double)o->direction[j]) : 0);
        c->vars[i] = only < 0 || only == i ? tg_variable(c->tape, o->view->shape, o->moved)
                                           : tg_constant(c->tape, o->view->shape, o->moved);
    }
    return c->function(c->tape, c->vars, c->user);
}

/* c . f(x + s v_moving) */
static double along(check *c, int moving, double s) {
    const tg_real *y = tg_value(record(c, moving, s, -1));
    double dot = 0;
    for (int64_t i = 0; y != NULL && i < c->output_count; i++)
        dot += (double)c->cotangent[i] * (double)y[i];
    return y == NULL ? (double)NAN : dot;
}

static tg_status slope(check *c, int moving, double *out, tg_error *error) {
    static const double weights[] = {1, -8, 8, -1};
    static const double steps[] = {-2, -1, 1, 2};
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += weights[i] * along(c, moving, steps[i] * c->options.step);
        if (tg_tape_error(c->tape)->status != TG_OK)
            return tape_failed(c, error);
    }
    *out = sum / (12 * c->options.step);
    return TG_OK;
}

/* The node whose memory a var shares. */
static const tgi_node *owner_of(const tgi_node *node) {
    while (node->op != NULL && node->op->aliases_input)
        node = tgi_node_of_view(node->inputs[0]);
    return node;
}

static bool is_read(const tg_tape *tape, const tgi_node *owner) {
    for (uint32_t i = 0; i < tape->length; i++) {
        const tgi_node *node = tgi_node_at(tape, i);
        if (node->op == NULL || !node->wants_grad)
            continue;
        if (node->op->backward_reads_output && owner_of(node) == owner)
            return true;
        for (int k = 0; k < node->input_count; k++)
            if ((node->op->backward_reads & TG_INPUT(k)) != 0 &&
                owner_of(tgi_node_of_view(node->inputs[k])) == owner)
                return true;
    }
    return false;
}

/* NaN into every value that no backward declares to read. */
static void spoil_unread(tg_tape *tape) {
    for (uint32_t i = 0; i < tape->length; i++) {
        const tgi_node *node = tgi_node_at(tape, i);
        bool owns = node->view.type == TG_REAL && node->param == NULL && owner_of(node) == node;
        if (!owns || is_read(tape, node))
            continue;
        tg_real *elements = (tg_real *)(uintptr_t)node->view.real;
        for (int64_t j = 0; j < node->view.count; j++)
            elements[j] = (tg_real)NAN;
    }
}

/* A scalar whose gradient with respect to f's output is the cotangent, and to each input its junk
 * besides: recorded after f, so that it contributes first. */
static tg_var with_junk(check *c, tg_var output) {
    tg_var total = tg_sum(tg_mul(output, tg_constant(c->tape, tg_shape_of(output), c->cotangent)));
    for (int i = 0; i < c->count; i++) {
        const operand *o = &c->operands[i];
        if (o->view->type == TG_REAL)
            total = tg_add(
                total, tg_sum(tg_mul(c->vars[i], tg_constant(c->tape, o->view->shape, o->junk))));
    }
    return total;
}

/* v . gradient of input i, asked for in this way. */
static tg_status analytic_slope(check *c, int i, way how, double *out, tg_error *error) {
    const operand *o = &c->operands[i];
    tg_var output = record(c, -1, 0, how == ALONE ? i : -1);
    tg_var loss = how == ON_TOP ? with_junk(c, output) : output;
    *out = 0;
    if (how != ON_TOP && tg_is_valid(output) && !tgi_node_at(c->tape, output.index)->wants_grad)
        return TG_OK; /* the function does not depend on this input: its gradient is zero */
    if (how != ON_TOP && tg_is_valid(output))
        spoil_unread(c->tape);
    tg_status status = how == ON_TOP ? tg_backward(loss) : tg_backward_from(loss, c->cotangent);
    if (status != TG_OK)
        return tape_failed(c, error);
    const tg_real *grad = tg_grad(c->vars[i]);
    for (int64_t j = 0; grad != NULL && j < o->view->count; j++)
        *out +=
            (double)o->direction[j] * ((double)grad[j] - (how == ON_TOP ? (double)o->junk[j] : 0));
    return TG_OK;
}

static tg_status compare(check *c, int i, way how, double numeric, tg_error *error) {
    static const char *const ways[WAYS] = {"", ", added to another contribution", ", wanted alone"};
    double analytic;
    tg_status status = analytic_slope(c, i, how, &analytic, error);
    if (status != TG_OK)
        return status;
    double size = fmax(fmax(fabs(analytic), fabs(numeric)), 1e-4);
    double relative = fabs(analytic - numeric) / size;
    if (!(relative <= c->report.worst_error))
        c->report = (tg_gradcheck_report){relative, i, analytic, numeric};
    if (!(relative <= c->options.tolerance))
        return tg_fail(error, TG_EMISMATCH,
                       "gradcheck: input %d%s: the gradient gives a slope of %.9g, the function "
                       "%.9g: relative error %.2g above %.2g",
                       i, ways[how], analytic, numeric, relative, c->options.tolerance);
    return TG_OK;
}

static tg_status trial(check *c, tg_error *error) {
    draw(c, c->output_count, c->cotangent);
    for (int i = 0; i < c->count; i++) {
        operand *o = &c->operands[i];
        if (o->view->type != TG_REAL)
            continue;
        draw(c, o->view->count, o->direction);
        draw(c, o->view->count, o->junk);
    }
    for (int i = 0; i < c->count; i++) {
        if (c->operands[i].view->type != TG_REAL)
            continue;
        double numeric = 0;
        tg_status status = slope(c, i, &numeric, error);
        if (status != TG_OK)
            return status;
        for (int how = TOGETHER; how < WAYS; how++) {
            status = compare(c, i, (way)how, numeric, error);
            if (status != TG_OK)
                return status;
        }
    }
    return TG_OK;
}

/* Views as they are to be, a real one among them. */
static tg_status check_views(int count, const tg_view *inputs, tg_error *error) {
    int reals = 0;
    for (int i = 0; i < count; i++) {
        int64_t elements;
        tg_status status = tg_shape_count(inputs[i].shape, &elements, error);
        if (status != TG_OK)
            return status;
        if (inputs[i].count != elements || (inputs[i].data == NULL && elements > 0))
            return tg_fail(error, TG_EINVAL,
                           "gradcheck: input %d has other elements than its shape", i);
        reals += inputs[i].type == TG_REAL;
    }
    return reals > 0 ? TG_OK : tg_fail(error, TG_EINVAL, "gradcheck: no input is real");
}

/* Makes the buffers, and records once to learn the output's size. */
static tg_status prepare(check *c, const tg_view *inputs, tg_error *error) {
    c->operands = tgi_arena_take(&c->arena, (size_t)c->count * sizeof *c->operands);
    c->vars = tgi_arena_take(&c->arena, (size_t)c->count * sizeof *c->vars);
    bool complete = c->operands != NULL && c->vars != NULL && c->tape != NULL;
    for (int i = 0; complete && i < c->count; i++) {
        c->operands[i] = (operand){.view = &inputs[i],
                                   .direction = buffer(c, inputs[i].count),
                                   .junk = buffer(c, inputs[i].count),
                                   .moved = buffer(c, inputs[i].count)};
        complete = c->operands[i].direction != NULL && c->operands[i].junk != NULL &&
                   c->operands[i].moved != NULL;
    }
    if (!complete)
        return tg_fail(error, TG_ENOMEM, "gradcheck: out of memory");
    tg_var output = record(c, -1, 0, -1);
    if (output.tape != c->tape)
        return tg_fail(error, TG_EINVAL, "gradcheck: the function's output is %s",
                       output.tape == NULL ? "no var" : "of another tape");
    if (tgi_node_of(output, "gradcheck: the function's output") == NULL)
        return tape_failed(c, error);
    c->output_count = tgi_node_at(c->tape, output.index)->view.count;
    c->cotangent = buffer(c, c->output_count);
    return c->cotangent != NULL ? TG_OK : tg_fail(error, TG_ENOMEM, "gradcheck: out of memory");
}

tg_status tg_gradcheck_for(size_t real_size, const tg_context *context,
                           tg_gradcheck_function function, void *user, int input_count,
                           const tg_view *inputs, const tg_gradcheck_options *options,
                           tg_gradcheck_report *report, tg_error *error) {
    if (sizeof(tg_real) != sizeof(double) || real_size != sizeof(tg_real))
        return tg_fail(
            error, TG_EINVAL,
            "gradcheck: needs double: link tapegrad_f64, and compile with what it asks for");
    if (function == NULL || input_count < 1 || inputs == NULL)
        return tg_fail(error, TG_EINVAL, "gradcheck: a function and one input at least");
    tg_status status = check_views(input_count, inputs, error);
    if (status != TG_OK)
        return status;
    check c = {.tape = tg_tape_create(context),
               .arena = {.allocator = tgi_context_of(context).allocator},
               .function = function,
               .user = user,
               .count = input_count};
    if (options != NULL)
        c.options = *options;
    if (!(c.options.tolerance >= 0) || !(c.options.step >= 0) || !isfinite(c.options.step) ||
        c.options.trials < 0) {
        tg_tape_free(c.tape);
        return tg_fail(error, TG_EINVAL, "gradcheck: tolerance %g, step %g, %d trials",
                       c.options.tolerance, c.options.step, c.options.trials);
    }
    if (c.options.tolerance == 0)
        c.options.tolerance = 1e-6;
    if (c.options.step == 0)
        c.options.step = 1e-4;
    if (c.options.trials == 0)
        c.options.trials = 3;
    tg_rng_seed(&c.rng, c.options.seed);
    status = prepare(&c, inputs, error);
    for (int i = 0; status == TG_OK && i < c.options.trials; i++)
        status = trial(&c, error);
    if (report != NULL)
        *report = c.report;
    tgi_arena_free(&c.arena);
    tg_tape_free(c.tape);
    return status;
}
