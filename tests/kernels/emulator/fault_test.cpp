// The emulator finds what it is for: each fault is planted in a small kernel, whose sound twin passes.
#include "generator/program/templates.hpp"
#include "generator/tridiagonal/backend.hpp"
#include "tests/kernels/emulator/emulated.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// What the threads of a small kernel find.
struct Outcome {
    std::string thrown;
    std::vector<std::string> findings;
    std::vector<double> memory = std::vector<double>(256);
    bool sound() const { return thrown.empty() && findings.empty(); }
    bool says(std::string_view text) const {
        for (const auto& finding : findings)
            if (finding.find(text) != finding.npos) return true;
        return thrown.find(text) != thrown.npos;
    }
    std::string all() const {
        auto text = thrown;
        for (const auto& finding : findings) text += "\n" + finding;
        return text;
    }
};

/// A kernel whose body sees `memory`, 256 numbers of which the first may be flags, `shared`, 64 numbers, and `planted`.
class SmallKernel {
  public:
    explicit SmallKernel(const std::string& body, int lanes = 32, Backend dialect = Backend::cuda) : lanes_(lanes) {
        unit_ = compile_unit(
            std::string(dialect == Backend::hip ? paste({"gpu/platform_hip.cuh"}) : "") +
                "TRIFOLD_KERNEL(0, 0) void kernel(double* memory, bool planted) {\n"
                "    double* shared = static_cast<double*>(shared_memory());\n    const int t = thread_index(), block = group_x();\n"
                "    trifold_int* flags = reinterpret_cast<trifold_int*>(memory);\n#line 1 \"kernel\"\n" +
                body + "\n}\n",
            dialect, lanes, true);
        connect(unit_.get(), emulator_);
    }
    Outcome run(bool planted, test::Grid grid, const Running& running = {}) {
        const auto kernel = reinterpret_cast<void (*)(double*, bool)>(find_kernel(unit_.get(), "kernel"));
        Outcome outcome;
        Detector detector;
        detector.begin_operation();
        detector.add_region("memory", outcome.memory.data(), 256 * 8, true);
        detector.begin_launch(0, {});
        grid.lanes = lanes_, grid.shared_bytes = 512;
        try {
            run_grid(emulator_, [&] { kernel(outcome.memory.data(), planted); }, grid, running, &detector);
        } catch (const std::runtime_error& error) {
            outcome.thrown = error.what();
        }
        outcome.findings = detector.findings();
        return outcome;
    }

  private:
    int lanes_;
    std::shared_ptr<void> unit_;
    Emulator emulator_{};
};

/// The sound kernel passes in every order, and the planted fault is found in every order.
void check_fault(SmallKernel kernel, const test::Grid& grid, const std::string& expected, int alive = 1) {
    for (const auto order : {trifold::test::Order::forward, trifold::test::Order::reverse, trifold::test::Order::random}) {
        CAPTURE(static_cast<int>(order));
        const auto sound = kernel.run(false, grid, {order, 3, alive});
        CHECK_MESSAGE(sound.sound(), sound.all());
        const auto faulty = kernel.run(true, grid, {order, 3, alive});
        CHECK_MESSAGE(faulty.says(expected), faulty.all());
    }
}
void check_fault(const std::string& body, const test::Grid& grid, const std::string& expected, int alive = 1, int lanes = 32) {
    check_fault(SmallKernel(body, lanes), grid, expected, alive);
}

/// What running the operation of a Program finds.
Outcome run_program(const Choice& choice, const Program& program, Operation operation) {
    const EmulatedUnit unit(choice, program);
    const auto& spec = choice.spec;
    const auto user = arrays<double>(spec, random_systems(spec, spec.rhs, 7));
    const Workspace workspace(program);
    std::vector<double> x(user.b.size());
    Outcome outcome;
    try {
        unit.run(operation, kernel_args(spec, user, x, spec.rhs, workspace));
    } catch (const std::runtime_error& error) {
        outcome.thrown = error.what();
    }
    outcome.findings = unit.findings();
    return outcome;
}

}  // namespace

TEST_CASE("a missing barrier is a race, named with both lines") {
    const std::string body =
        "shared[t] = t;\n"
        "if (!planted) block_sync();\n"
        "memory[t] = shared[63 - t];";
    check_fault(body, {.threads = 64}, "race on shared memory");
    const auto faulty = SmallKernel(body).run(true, {.threads = 64});
    CHECK(faulty.says("kernel:1"));
    CHECK(faulty.says("kernel:3"));
}

TEST_CASE("each fault is found, and its sound twin passes") {
    const auto published = [](const std::string& before, const std::string& waits, const std::string& after) {
        return "if (block == 0) {\n  memory[8 + t] = t;\n" + before +
               "  if (t == 0) store_release(&flags[0], trifold_int(1));\n} else {\n  if (" + waits +
               ") while (load_acquire(&flags[0]) != 1) spin();\n" + after + "  memory[80 + t] = memory[8 + t];\n}";
    };
    const std::string barrier = "  block_sync();\n", unless_planted = "  if (!planted) block_sync();\n";
    const test::Grid one{.threads = 64}, two{.x = 2, .threads = 64}, waves{.x = 2, .threads = 32};
    struct Case {
        const char* fault;
        std::string body;
        test::Grid grid;
        const char* found;
        int alive = 1, lanes = 32;
    };
    for (const auto& [fault, body, grid, found, alive, lanes] : {
             Case{"no barrier between a read and the next write",
                  "shared[t] = t;\nblock_sync();\nconst double next = shared[(t + 32) % 64];\n"
                  "if (!planted) block_sync();\nshared[t] = next;\nmemory[t] = next;",
                  one, "race on shared memory"},
             Case{"no barrier of a wave", "shared[t] = t;\nif (!planted) warp_sync();\nmemory[t] = shared[t ^ 1];", one,
                  "race on shared memory"},
             Case{"no barrier of a wave of 64", "shared[t] = t;\nif (!planted) warp_sync();\nmemory[t] = shared[t ^ 1];", one,
                  "race on shared memory", 1, 64},
             Case{"a wave's barrier in place of the block's",
                  "shared[t] = t;\nif (planted) warp_sync(); else block_sync();\nmemory[t] = shared[63 - t];", one,
                  "race on shared memory"},
             Case{"a write beyond an array", "memory[t == 63 && planted ? 256 : t] = 1;", one,
                  "write of 8 bytes by block 0 thread 63, kernel:1: 0 bytes past the end of 'memory'"},
             Case{"a read before an array", "memory[t] = memory[t == 0 && planted ? -1 : t + 64];", one, "8 bytes before 'memory'"},
             Case{"a write beyond shared memory", "shared[t == 63 && planted ? 64 : t] = 1;", one,
                  "0 bytes past the end of shared memory, which has 512"},
             Case{"a divergent barrier", "if (t < 3 || !planted)\n  block_sync();", one,
                  "threads 0 to 2 wait at the block barrier, kernel:2; threads 3 to 63 have ended"},
             Case{"a divergent shuffle", "if (t % 32 != 5 || !planted)\n  memory[t] = shuffle_xor(t, 1);", one, "shuffle, kernel:2"},
             Case{"a divergent shuffle of a wave of 64", "if (t % 32 != 5 || !planted)\n  memory[t] = shuffle_xor(t, 1);", one,
                  "shuffle, kernel:2", 1, 64},
             Case{"no wait for a flag", published(barrier, "t == 0 && !planted", barrier), two, "race on memory"},
             // In reverse order the second block waits first, which needs both alive.
             Case{"no wait for a flag, both alive", published(barrier, "t == 0 && !planted", barrier), two, "race on memory", 2},
             Case{"a flag released before all of the block has written", published(unless_planted, "t == 0", barrier), two,
                  "race on memory", 2},
             Case{"a flag that orders only its reader", published(barrier, "t == 0", unless_planted), two, "race on memory", 2},
             Case{"a plain write of a flag",
                  "if (t != 0) return;\n"
                  "if (block == 0) { if (planted) flags[0] = 1; else store_release(&flags[0], trifold_int(1)); }\n"
                  "else while (load_acquire(&flags[0]) != 1) spin();",
                  waves, "race on memory", 2},
             Case{"a flag that never comes",
                  "if (t == 0 && block == 0 && !planted) store_release(&flags[0], trifold_int(1));\n"
                  "if (t == 0) while (load_acquire(&flags[0]) != 1) spin();",
                  waves, "threads 0 to 0 spin on a flag, kernel:2", 2},
             // Blocks that claim their work in order never wait for a later one, so alone each of them ends.
             Case{"a wait for a later claim",
                  "if (t != 0) return;\nconst trifold_int mine = claim(&flags[3]);\nconst trifold_int wanted = planted ? 1 - mine : mine - "
                  "1;\n"
                  "if (wanted >= 0) while (load_acquire(&flags[wanted]) != 1) spin();\nstore_release(&flags[mine], trifold_int(1));",
                  waves, "block (0, 0): threads 0 to 0 spin on a flag, kernel:4"},
             Case{"a block's barrier in place of the cluster's",
                  "memory[32 * block + t] = t;\nif (planted) block_sync(); else cluster_sync();\n"
                  "memory[128 + 32 * block + t] = memory[32 * (1 - block) + t];",
                  {.x = 2, .threads = 32, .cluster = 2},
                  "race on memory"},
         }) {
        CAPTURE(fault);
        check_fault(body, grid, found, alive, lanes);
    }
    for (const int lanes : {32, 64}) {
        const auto in_hip = [&](const std::string& body) { return SmallKernel(body, lanes, Backend::hip); };
        check_fault(in_hip("shared[t] = t;\nif (!planted) block_sync();\nmemory[t] = shared[63 - t];"), one, "race on shared memory");
        check_fault(in_hip("memory[t == 63 && planted ? 256 : t] = 1;"), one, "0 bytes past the end of 'memory'");
        check_fault(in_hip("if (t < 3 || !planted)\n  block_sync();"), one, "threads 0 to 2 wait at the block barrier, kernel:2");
        check_fault(in_hip(published(barrier, "t == 0 && !planted", barrier)), two, "race on memory", 2);
    }
}

TEST_CASE("a missing arrival at a named barrier is a race or a wait without end") {
    // The second wave publishes; the first waits for it alone. HIP's barriers count arrivals in a word.
    const std::string word = "unsigned& word = reinterpret_cast<unsigned*>(memory)[500];\n";
    for (const auto dialect : {Backend::cuda, Backend::hip})
        for (const int lanes : {32, 64}) {
            if (dialect == Backend::cuda && lanes == 64) continue;
            const auto kernel = [&](const std::string& body) { return SmallKernel(word + body, lanes, dialect); };
            check_fault(kernel("if (t < warp_lanes) { if (!planted) named_sync(word, 1, 2 * warp_lanes); memory[t] = shared[t]; }\n"
                               "else { shared[t - warp_lanes] = t; if (!planted) named_arrive(word, 1, 2 * warp_lanes); }"),
                        {.threads = 2 * lanes}, "race on shared memory");
            // Three times: no thread goes on before all have come that time.
            check_fault(kernel("int* all = reinterpret_cast<int*>(memory);\nfor (int k = 0; k < 3; ++k) {\n"
                               "  all[t] = k;\n  if (!planted) named_sync(word, 1, 3 * warp_lanes);\n"
                               "  all[200 + t] = all[(t + warp_lanes) % (3 * warp_lanes)];\n  named_sync(word, 1, 3 * warp_lanes);\n}"),
                        {.threads = 3 * lanes}, "race on memory");
            check_fault(kernel("if (t < warp_lanes) named_sync(word, 1, 2 * warp_lanes);\n"
                               "else if (!planted) named_arrive(word, 1, 2 * warp_lanes);"),
                        {.threads = 2 * lanes},
                        dialect == Backend::cuda ? "wait at a named barrier, kernel:2" : "spin on a flag, kernel:2");
        }
}

TEST_CASE("what nobody wrote is NaN") {
    const auto outcome = SmallKernel("memory[t] = shared[t];").run(false, {.threads = 64});
    CHECK(outcome.memory[0] != outcome.memory[0]);
}

TEST_CASE("a word tells of itself and of nothing else, a plain access beside it is a race") {
    const std::string words = "trifold_word* words = reinterpret_cast<trifold_word*>(memory);\ntrifold_word both[2] = {};\n";
    for (const auto dialect : {Backend::cuda, Backend::hip}) {
        const std::string wait = "while (both[0] != 3 || both[1] != 4) { spin(); load_words(both, words + 2 * t); }\n";
        const auto kernel = [&](const std::string& body) { return SmallKernel(words + body, 32, dialect); };
        check_fault(kernel("if (block == 0) {\n  both[0] = 3, both[1] = 4;\n  memory[128 + t] = t;\n  store_words(words + 2 * t, both);\n} "
                           "else {\n  " +
                           wait + "  memory[64 + t] = planted ? memory[128 + t] : both[1];\n}"),
                    {.x = 2, .threads = 32}, "race on memory", 2);
        check_fault(kernel("if (block == 0) { both[0] = 3, both[1] = 4; store_words(words + 2 * t, both); }\n"
                           "else if (planted) words[2 * t] = 3;\nelse " +
                           wait),
                    {.x = 2, .threads = 32}, "race on memory", 2);
        check_fault(
            kernel("if (block == 1 && !planted) { both[0] = 3, both[1] = 4; store_words(words + 2 * t, both); }\nif (block == 0) " + wait),
            {.x = 2, .threads = 32}, "spin on a flag", 2);
    }
}

TEST_CASE("a loop without end is named with its place, whether threads meet in it or not") {
    const std::string begin = "const int step = planted ? 0 : 32;\nfor (int k = t; k < 64; k += step) ";
    for (const auto dialect : {Backend::cuda, Backend::hip})
        for (const auto* body : {"{}", "shared[k] = k;", "warp_sync();", "{ if (load_acquire(&flags[100]) < 0) return; spin(); }"}) {
            CAPTURE(body);
            SmallKernel kernel(begin + body, 32, dialect);
            for (const auto order : {trifold::test::Order::forward, trifold::test::Order::random}) {
                const auto sound = kernel.run(false, {.threads = 32}, {order, 3});
                CHECK_MESSAGE(sound.sound(), sound.all());
                const auto faulty = kernel.run(true, {.threads = 32}, {.order = order, .max_steps = 5000});
                CHECK_MESSAGE((faulty.says("a loop without end: block (0, 0) thread") || faulty.says("spin on a flag")), faulty.all());
                CHECK_MESSAGE(faulty.says("kernel:2"), faulty.all());
            }
        }
}

TEST_CASE("a missing wait for a copy is seen") {
    const std::string body =
        "memory[t] = t;\nblock_sync();\n"
        "if (t < 32) copy_async(shared + 2 * t, memory + 2 * t);\nend_copies();\nif (!planted) wait_copies<0>();\nblock_sync();\n"
        "memory[64 + t] = shared[t];\n"
        "block_sync();\nwait_copies<0>();";
    SmallKernel kernel(body);
    for (const auto order : {trifold::test::Order::forward, trifold::test::Order::reverse, trifold::test::Order::random}) {
        const auto sound = kernel.run(false, {.threads = 64}, {order});
        CHECK_MESSAGE(sound.sound(), sound.all());
        for (std::size_t t = 0; t < 64; ++t) CHECK(sound.memory[64 + t] == static_cast<double>(t));
        const auto faulty = kernel.run(true, {.threads = 64}, {order});
        for (std::size_t t = 0; t < 64; ++t) CHECK(faulty.memory[64 + t] != faulty.memory[64 + t]);
    }
    check_fault("copy_async(shared + 2 * (t % 32), memory + 128 + 2 * (t % 32));\nend_copies();\nif (!planted) wait_copies<0>();",
                {.threads = 32}, "a copy is never waited for: kernel:1");
    check_fault(
        "copy_async(shared + 2 * t, memory + 2 * t);\nend_copies();\nwait_copies<0>();\nif (!planted) block_sync();\nmemory[128 + t] = "
        "shared[2 * ((t + 5) % 32)];",
        {.threads = 32}, "race on shared memory");
}

TEST_CASE(
    "a gate tells of copies of ranges, a missing wait at it is a race, and bytes that were announced and do not come are waited for") {
    const std::string gates =
        "trifold_gate *full = reinterpret_cast<trifold_gate*>(shared + 60), *empty = full + 1;\n"
        "if (t == 0) make_gate(full, 1), make_gate(empty, 2);\nmemory[t] = t;\nblock_sync();\n";
    const auto copy = [](const std::string& bytes) {
        return "if (t == 0) { copy_range(shared, memory, 256, full); gate_arrive_with(full, " + bytes + "); }\n";
    };
    check_fault(gates + copy("256") + "if (!planted) gate_wait(full, 0);\nmemory[64 + t] = shared[t % 32];", {.threads = 64},
                "race on shared memory");
    check_fault(gates + copy("planted ? 512 : 256") + "gate_wait(full, 0);\nmemory[64 + t] = shared[t % 32];", {.threads = 64},
                "spin on a flag");
    const auto outcome =
        SmallKernel(gates + copy("256") + "gate_wait(full, 0);\nmemory[64 + t] = shared[t % 32];").run(false, {.threads = 64});
    for (std::size_t t = 0; t < 64; ++t) CHECK(outcome.memory[64 + t] == static_cast<double>(t % 32));
    // Again and again into the same memory: not before both waves have read what is there.
    SmallKernel ring(
        gates +
        "for (unsigned turn = 0; turn < 3; ++turn) {\n  if (t == 0) {\n    if (!planted) gate_wait(empty, turn - 1);\n"
        "    copy_range(shared, memory, 256, full);\n    gate_arrive_with(full, 256);\n  }\n"
        "  gate_wait(full, turn);\n  memory[64 + t] = shared[t % 32];\n  warp_sync();\n  if (t % 32 == 0) gate_arrive(empty);\n}");
    for (const auto order : {trifold::test::Order::forward, trifold::test::Order::reverse, trifold::test::Order::random}) {
        const auto sound = ring.run(false, {.threads = 64}, {order});
        CHECK_MESSAGE(sound.sound(), sound.all());
        const auto faulty = ring.run(true, {.threads = 64}, {order});
        CHECK((faulty.says("race on shared memory") || faulty.says("a gate has opened again")));
    }
}

TEST_CASE("a barrier taken out of a real kernel is found missing, and so is a launch's wait for another") {
    const Spec spec{.block = 12, .horizon = 5};
    for (const auto* target : {"cuda:sm_90", "hip:gfx942"}) {
        CAPTURE(target);
        const auto choice = choose(spec, parse_target(target), {.schedule = "twisted:2", .variant = "fused"});
        auto program = generate(choice, Packing::together);
        auto& source = program.units.front().source;
        const auto sound = run_program(choice, program, Operation::factor_solve);
        CHECK_MESSAGE(sound.sound(), sound.all());
        auto unordered = program;
        for (auto& launch : unordered.operations.at("factor_solve")) launch.after.clear();
        CHECK(run_program(choice, unordered, Operation::factor_solve).says("race on factor"));
        const std::string barrier = "block_sync();";
        const auto at = source.find(barrier, source.find("void solve_lower("));
        REQUIRE(at != std::string::npos);
        source.replace(at, barrier.size(), "");
        const auto faulty = run_program(choice, program, Operation::factor_solve);
        CHECK_MESSAGE(faulty.says("templates/gpu/tridiagonal/levels/sweep.cuh"), faulty.all());
        CHECK(faulty.says("race on shared memory"));
    }
}
