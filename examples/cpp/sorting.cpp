// Two ways to sort the same numbers, as benchmarks of google-benchmark; SIZE says how many.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers shuffled(std::size_t size) {
  std::mt19937 generator(1);
  Numbers numbers(size);
  std::generate(numbers.begin(), numbers.end(), generator);
  return numbers;
}

void standard(Numbers& numbers) { std::sort(numbers.begin(), numbers.end()); }

void insertion(Numbers& numbers) {
  for (std::size_t next = 1; next < numbers.size(); ++next) {
    const auto number = numbers[next];
    auto place = next;
    for (; place > 0 && numbers[place - 1] > number; --place) numbers[place] = numbers[place - 1];
    numbers[place] = number;
  }
}

void measure(benchmark::State& state, void (*sort)(Numbers&)) {
  const auto numbers = shuffled(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    auto copy = numbers;
    sort(copy);
    benchmark::DoNotOptimize(copy.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

}  // namespace

BENCHMARK_CAPTURE(measure, standard, standard)->Arg(SIZE);
BENCHMARK_CAPTURE(measure, insertion, insertion)->Arg(SIZE);
BENCHMARK_MAIN();
