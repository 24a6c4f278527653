import { operating } from './operating.ts'
import type { Plants } from './plant.ts'
import { onPostgres } from './postgres.ts'
import { proving } from './proving.ts'
import { pushing } from './pushing.ts'
import { reading } from './reading.ts'
import { receiving } from './receiving.ts'
import { storing } from './storing.ts'

/** Every plant that tests must find, by its name. */
export const plants: Plants = { ...receiving, ...reading, ...proving, ...pushing, ...storing, ...onPostgres, ...operating }
