import type { Migration } from '../src/store/migration.ts'
import { mirror } from './0001-mirror.ts'
import { inlineBodies } from './0002-inline-bodies.ts'
import { push } from './0003-push.ts'

/** Every step of the schema, in order. A step that was released is never changed. */
export const migrations: readonly Migration[] = [mirror, inlineBodies, push]
