import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { meantOrListed } from '../../base/near-names.ts'
import { type Config, proxySettings } from '../../config/config.ts'
import { timeFromMs } from '../../model/time.ts'
import { NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import { testMessage } from './message.ts'
import { Senders } from './senders.ts'

/** The outcome of a test message to one operator, in one sentence. */
export interface OperatorTest {
  readonly operator: string
  readonly ok: boolean
  readonly text: string
}

/**
 * Sends a test message to one operator, or to all of them.
 * @param name null for all.
 * @throws UsageError when the settings have none, or none of that name.
 */
export async function testOperators(config: Config, name: string | null, clock: Clock, signal: AbortSignal): Promise<OperatorTest[]> {
  const operators = operatorsOf(config, name)
  const senders = new Senders(operators, { clock, proxy: proxySettings(config) })
  const tests: OperatorTest[] = []
  try {
    for (const operator of operators) {
      const result = await senders.send(operator, randomUUID(), JSON.stringify(testMessage(timeFromMs(clock.now()))), signal)
      const text = result.ok ? `it took a test message${result.remark === undefined ? '' : `, ${result.remark}`}` : result.error
      tests.push({ operator: operator.name, ok: result.ok && result.remark === undefined, text: printableLine(text, 500) })
    }
  } finally {
    await senders.close()
  }
  return tests
}

/** One operator, or all of them. @throws NotFoundError when the settings have none, or none of that name. */
export function operatorsOf({ operators }: Pick<Config, 'operators'>, name: string | null): Config['operators'] {
  if (operators.length === 0)
    throw new NotFoundError(['there are no operators in the settings; list them in CONFIG_FILE under `operators`'])
  const found = operators.filter((operator) => name === null || operator.name === name)
  if (found.length > 0) return found
  const names = operators.map((operator) => operator.name)
  throw new NotFoundError([`there is no operator ${JSON.stringify(name)} in the settings; ${meantOrListed(name ?? '', names)}`])
}
