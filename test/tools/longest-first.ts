import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { readDurations } from './durations.ts'

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durations = readDurations()
    const secondsOf = ({ moduleId }: TestSpecification) => durations[relative(this.ctx.config.root, moduleId)] ?? 0
    const projects = this.ctx.projects
    const sorted = (await super.sort(files)).sort((a, b) => secondsOf(b) - secondsOf(a))
    return sorted.sort((a, b) => projects.indexOf(a.project) - projects.indexOf(b.project))
  }
}
