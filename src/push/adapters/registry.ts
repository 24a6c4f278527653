import type { AdapterDefinition } from './adapter.ts'
import { ams360 } from './ams360.ts'

/** Every adapter, by the name in a destination's `adapter`. A new adapter is a file in `adapters/` and a line here. */
export const adapters: ReadonlyMap<string, AdapterDefinition> = new Map([['ams360', ams360]])
