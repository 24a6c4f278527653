import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { readDurations } from './durations.ts'

/**
 * Begins with the tests that take the longest: begun last, one of them would run alone at the end. One project after the other, for each has
 * processes of its own, which are slow to start.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durations = readDurations()
    const secondsOf = ({ moduleId }: TestSpecification) => durations[relative(this.ctx.config.root, moduleId)] ?? 0
    const projects = this.ctx.projects
    const sorted = (await super.sort(files)).sort((a, b) => secondsOf(b) - secondsOf(a))
    return sorted.sort((a, b) => projects.indexOf(a.project) - projects.indexOf(b.project))
  }
}
