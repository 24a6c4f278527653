import { clocksDisagree } from '../alarms/watch-clocks.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import { badCondition, type DoctorParts, type Finding, good, NO_DATABASE, unchecked } from './finding.ts'

/** The clock of this machine against the database server's, what was recorded, and the services that the checks of the accounts have asked. */
export async function* checkClocks({ config, db, serviceClocks }: DoctorParts): AsyncGenerator<Finding> {
  if (db === null) {
    yield unchecked('clocks', NO_DATABASE)
    return
  }
  const found = clocksDisagree(await compareClocks(db.read, serviceClocks), config)
  yield found.level === 'on'
    ? badCondition('clocks', found)
    : good('clocks', "this machine's clock agrees with the database and with what was recorded last")
}
