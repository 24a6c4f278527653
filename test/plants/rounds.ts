import { join } from 'node:path'
import type { SoughtPlant } from './plant.ts'
import { reachIn } from './reach.ts'

/** Plants that go into one copy of the tree. */
export type Round = readonly (readonly [name: string, plant: SoughtPlant])[]

interface Placed {
  readonly name: string
  readonly plant: SoughtPlant
  readonly source: string
  readonly tests: readonly string[]
  /** Every file that its tests lead to. */
  readonly reached: ReadonlySet<string>
}

/** Divides plants among few copies: in one copy no test of a plant imports another's source. */
export function roundsOf(root: string, plants: Round): Round[] {
  const reach = reachIn(root)
  const rounds: Placed[][] = []
  for (const [name, plant] of plants) {
    const tests = plant.foundBy.map((file) => `test/${file}`)
    const reached = new Set(tests.flatMap((file) => [...reach(file)]))
    const placed: Placed = { name, plant, source: join('src', plant.file), tests, reached }
    const round = rounds.find((others) => others.every((other) => areApart(placed, other)))
    if (round) round.push(placed)
    else rounds.push([placed])
  }
  return rounds.map((round) => round.map(({ name, plant }) => [name, plant] as const))
}

function areApart(a: Placed, b: Placed): boolean {
  return a.source !== b.source && !a.reached.has(b.source) && !b.reached.has(a.source)
}
