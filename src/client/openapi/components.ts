import { z } from 'zod'
import * as answers from '../schemas/answers.ts'
import * as appetite from '../schemas/appetite.ts'
import * as applicant from '../schemas/applicant.ts'
import * as binding from '../schemas/binding.ts'
import * as checkpoint from '../schemas/checkpoint.ts'
import * as documents from '../schemas/documents.ts'
import * as errors from '../schemas/errors.ts'
import * as events from '../schemas/events.ts'
import * as identity from '../schemas/identity.ts'
import * as oauth from '../schemas/oauth.ts'
import * as rail from '../schemas/rail.ts'
import * as requirements from '../schemas/requirements.ts'
import * as create from '../schemas/submission-create.ts'
import * as thread from '../schemas/thread.ts'
import * as workspace from '../schemas/workspace.ts'

const files = [
  answers,
  appetite,
  applicant,
  binding,
  checkpoint,
  create,
  documents,
  errors,
  events,
  identity,
  oauth,
  rail,
  requirements,
  thread,
  workspace,
]

/** @returns the name of a schema in the document: `bindRequestSchema` becomes `BindRequest`. */
const nameOf = (exported: string) => exported.charAt(0).toUpperCase() + exported.slice(1).replace(/Schema$/, '')

/** @returns all schemas by their names in the document. */
export function namedSchemas(): ReadonlyMap<string, z.ZodType> {
  const found = files.flatMap((file) => Object.entries<unknown>(file as Record<string, unknown>))
  const schemas = found.filter((entry): entry is [string, z.ZodType] => entry[0].endsWith('Schema') && entry[1] instanceof z.ZodType)
  return new Map(schemas.map(([exported, schema]) => [nameOf(exported), schema]))
}
