/**
 * The virtual machine of the test tools alone: time, chance and machines that freeze and die. It runs wherever the Web platform's types
 * hold, so in a browser too.
 */

export { FAKE_WALL_START, type FakeWorld, type FakeWorldOptions, fakeWorld } from './fake-world.ts';
export { createRandom, type Random } from './random.ts';
export { createTimeline, type Timeline, type Timers, turn } from './timeline.ts';
