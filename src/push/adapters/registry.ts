import type { AdapterDefinition } from './adapter.ts'
import { ams360 } from './ams360.ts'

/** Every adapter, by the name that a destination's `adapter` gives: a new one is a file in `adapters/` and a line here. */
export const adapters: ReadonlyMap<string, AdapterDefinition> = new Map([['ams360', ams360]])
