use super::*;

#[test]
fn keys_are_those_of_the_source_documents() {
    let keys = Keys::standalone(ContextId(0));
    let (sal, io) = (ScriptType::sal(), "io".parse::<Name>().unwrap());
    let queue = |target, priority| Queue { script_type: sal.clone(), target, priority };
    assert_eq!(keys.work(&queue(Target::Type, Priority::Normal)), "hero:q:work:type:sal");
    assert_eq!(keys.work(&queue(Target::Group(io.clone()), Priority::Urgent)), "hero:q:work:type:sal:group:io:prio:0");
    assert_eq!(keys.work(&queue(Target::Instance(io.clone(), 3), Priority::Normal)), "hero:q:work:type:sal:group:io:inst:3");
    assert_eq!(keys.control(&sal), "hero:q:ctl:type:sal");
    assert_eq!(keys.presence(&sal, &io, 3), "hero:meta:actor:inst:sal:io:3");
    assert_eq!(Keys::clustered(ContextId(7)).scheduled(), "{ctx:7}:hero:q:scheduled");
}

#[test]
fn a_work_key_is_read_back() {
    for keys in [Keys::standalone(ContextId(0)), Keys::clustered(ContextId(7))] {
        for target in [Target::Type, Target::Group("io".parse().unwrap()), Target::Instance("io".parse().unwrap(), 3)] {
            for priority in [Priority::Urgent, Priority::Normal, Priority::Low] {
                let queue = Queue { script_type: ScriptType::sal(), target: target.clone(), priority };
                assert_eq!(keys.parse_work(&keys.work(&queue)), Some(queue));
            }
        }
        assert_eq!(keys.parse_work("hero:job:x"), None);
    }
}
