import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The folders whose tests take minutes, the longest first: begun last, one of them would run alone at the end. */
const LONGEST = ['crash', 'e2e', 'chaos', 'outage', 'reconcile', 'app'].map((folder) => `/test/${folder}/`)

/** Begins with the tests that take the longest; the order of the others stays. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = LONGEST.findIndex((folder) => moduleId.includes(folder))
      return found === -1 ? LONGEST.length : found
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}
