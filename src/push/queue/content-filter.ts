import { PermanentError } from '../../base/errors.ts'
import type { Row } from '../../model/entity.ts'
import type { ChangeContent } from '../../store/outbox/present-rows.ts'
import type { QueuedChange } from '../../store/outbox/rows.ts'
import { directionOf } from '../contract/direction.ts'
import type { TemplateInput } from '../http/templates.ts'
import { Templates } from '../http/templates.ts'

/** What the `filter` of a destination sees of a change. */
export interface FilterSubject {
  readonly change: QueuedChange
  readonly isSnapshot: boolean
  readonly content: ChangeContent
  /** The record's row, and its submission's, as they are now. */
  readonly row: Row
  readonly submission: Row | null
}

/** The `filter` of one destination. */
export class ContentFilter {
  readonly #templates: Templates

  /** @param expression which `checkFilter` found valid. */
  constructor(expression: string) {
    this.#templates = new Templates([{ name: NAME, text: expression }])
  }

  /**
   * @throws PermanentError when the filter fails on it, does not end in time, or says neither true nor false.
   * @throws TransientError when nothing can be evaluated now.
   */
  async passes(subject: FilterSubject): Promise<boolean> {
    const [value = null] = await this.#templates.evaluate([NAME], inputOf(subject))
    if (value !== null && typeof value !== 'boolean') throw new PermanentError(`${NAME} must say true or false, and says neither`)
    return value === true
  }

  close(): void {
    this.#templates.close()
  }
}

const NAME = 'filter'

/** The names are those of templates; personal columns are there, since nothing of it goes out. */
function inputOf({ change, isSnapshot, content, row, submission }: FilterSubject): TemplateInput {
  const service = change.entity === 'thread_messages' ? row['direction'] : null
  return {
    account: change.account,
    submission_id: change.submissionId,
    entity: change.entity,
    entity_id: change.entityId,
    operation: change.operation,
    cause: change.cause,
    seq: change.seq,
    snapshot: isSnapshot,
    changed_at: content.changedAt,
    before: content.before,
    after: content.after,
    ...directionOf(typeof service === 'string' ? service : null),
    row,
    submission,
  }
}
