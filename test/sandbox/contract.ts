import { conditionOf } from '../../src/client/openapi/conditions.ts'
import { openApiDocument } from '../../src/client/openapi/document.ts'
import { conditionsOf } from '../../src/client/openapi/operation.ts'
import { operations } from '../../src/client/openapi/operations.ts'
import type { SentAnswer } from '../../src/sandbox/service/options.ts'
import { Described } from '../tools/described.ts'

const described = new Described(openApiDocument())
/** `operationId condition` of each listed error. */
export const listedErrors: ReadonlySet<string> = new Set(
  operations.flatMap((operation) => conditionsOf(operation).map((condition) => `${operation.operationId} ${condition}`)),
)

export class Contract {
  readonly problems: string[] = []
  /** `operationId status` of each checked success, `operationId condition` of each error. */
  readonly seen = new Set<string>()

  /** Records problems of an answer. Ignores routes outside the specification, and faults. */
  readonly observe = (answer: SentAnswer): void => {
    for (const problem of this.check(answer)) this.problems.push(`${answer.method} ${answer.path} ${answer.status}: ${problem}`)
  }

  /** @returns problems, in sentences. Errors are looked up by condition, since variants change statuses. */
  check(answer: SentAnswer): string[] {
    const { method, path, status, contentType, condition } = answer
    const operation = described.find(method, path)
    if (!operation) return []
    const isFault = status >= 400 ? condition === null : contentType.startsWith('text/html') && operation.operationId !== 'authorize'
    if (isFault) return []
    const name = `${operation.operationId} ${condition ?? status}`
    this.seen.add(name)
    if (condition === null) return described.problems(operation, answer)
    if (!listedErrors.has(name)) return [`the document does not list ${condition}`]
    return described.problems(operation, answer, conditionOf(condition).status)
  }
}
