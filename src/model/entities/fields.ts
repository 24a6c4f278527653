import type { ColumnKind, FieldDescription, ProtectionClass } from '../entity.ts'

type Rest = Omit<FieldDescription, 'kind' | 'class' | 'meaning'>

function fieldOf<const K extends ColumnKind>(kind: K) {
  return <const R extends Rest>(protection: ProtectionClass, meaning: string, rest?: R) => {
    return { kind, class: protection, meaning, ...rest } as { kind: K; class: ProtectionClass; meaning: string } & R
  }
}

/*
 * Functions that declare a column of each kind. Arguments: protection class, meaning in one
 * sentence, further properties.
 */

export const text = fieldOf('text')
export const int = fieldOf('int')
export const real = fieldOf('real')
export const bool = fieldOf('bool')
export const json = fieldOf('json')
export const time = fieldOf('time')
export const date = fieldOf('date')
export const raw = fieldOf('raw')
