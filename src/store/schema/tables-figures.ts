import type { TimeText } from '../../model/time.ts'

/** Figures over time, for kysely. */
export interface FiguresTables {
  sync_figures: FiguresTable
}

/** What one process counted in one minute, or one hour. */
export interface FiguresTable {
  /** 60 or 3,600. */
  step_seconds: number
  /** When the minute or hour began, UTC. */
  at: TimeText
  process_id: string
  /** JSON: numbers by series and label. */
  figures: string
}
