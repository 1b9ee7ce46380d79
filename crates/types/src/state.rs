//! SQLSTATE: five characters that name the kind of an error.
//!
//! The first two characters are the class (`22` is a data exception, `23` a violated constraint),
//! the other three say which one. The codes are those of PostgreSQL 17; clients decide by them what
//! to do, so an error never changes its code. The condition names are those that `EXCEPTION WHEN`
//! of procedural languages takes.

use std::fmt;

/// A five-character error code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The code as text, such as `22P02`.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("codes are made of ASCII")
    }

    /// The class of the code: its first two characters.
    pub fn class(&self) -> &str {
        &self.code()[..2]
    }

    /// The code that `text` spells: five digits or capital letters.
    pub fn from_code(text: &str) -> Option<Self> {
        let code: [u8; 5] = text.as_bytes().try_into().ok()?;
        code.iter().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase()).then_some(Self(code))
    }

    /// PostgreSQL's name for the condition, such as `division_by_zero`; `None` for a code that
    /// PostgreSQL does not define.
    pub fn condition(&self) -> Option<&'static str> {
        NAMES.iter().find(|(state, _)| state == self).map(|(_, name)| *name)
    }

    /// The codes that a condition name stands for: one, or several where classes share the name.
    pub fn from_condition(name: &str) -> impl Iterator<Item = SqlState> {
        NAMES.iter().filter(move |(_, known)| *known == name).map(|(state, _)| *state)
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlState({})", self.code())
    }
}

/// Makes the constants and the table of names from one list.
macro_rules! states {
    ($($constant:ident = $code:literal, $name:literal;)*) => {
        impl SqlState {
            $(
                #[doc = concat!("`", $code, "`: ", $name, ".")]
                pub const $constant: SqlState = SqlState(five($code));
            )*
        }

        const NAMES: &[(SqlState, &str)] = &[$((SqlState::$constant, $name),)*];
    };
}

const fn five(code: &str) -> [u8; 5] {
    let code = code.as_bytes();
    [code[0], code[1], code[2], code[3], code[4]]
}

states! {
    // Successful Completion.
    SUCCESSFUL_COMPLETION = "00000", "successful_completion";
    // Warning.
    WARNING = "01000", "warning";
    DYNAMIC_RESULT_SETS_RETURNED = "0100C", "dynamic_result_sets_returned";
    IMPLICIT_ZERO_BIT_PADDING = "01008", "implicit_zero_bit_padding";
    NULL_VALUE_ELIMINATED_IN_SET_FUNCTION = "01003", "null_value_eliminated_in_set_function";
    PRIVILEGE_NOT_GRANTED = "01007", "privilege_not_granted";
    PRIVILEGE_NOT_REVOKED = "01006", "privilege_not_revoked";
    WARNING_STRING_DATA_RIGHT_TRUNCATION = "01004", "string_data_right_truncation";
    DEPRECATED_FEATURE = "01P01", "deprecated_feature";
    // No Data.
    NO_DATA = "02000", "no_data";
    NO_ADDITIONAL_DYNAMIC_RESULT_SETS_RETURNED = "02001", "no_additional_dynamic_result_sets_returned";
    // SQL Statement Not Yet Complete.
    SQL_STATEMENT_NOT_YET_COMPLETE = "03000", "sql_statement_not_yet_complete";
    // Connection Exception.
    CONNECTION_EXCEPTION = "08000", "connection_exception";
    CONNECTION_DOES_NOT_EXIST = "08003", "connection_does_not_exist";
    CONNECTION_FAILURE = "08006", "connection_failure";
    SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION = "08001", "sqlclient_unable_to_establish_sqlconnection";
    SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION = "08004", "sqlserver_rejected_establishment_of_sqlconnection";
    TRANSACTION_RESOLUTION_UNKNOWN = "08007", "transaction_resolution_unknown";
    PROTOCOL_VIOLATION = "08P01", "protocol_violation";
    // Triggered Action Exception.
    TRIGGERED_ACTION_EXCEPTION = "09000", "triggered_action_exception";
    // Feature Not Supported.
    FEATURE_NOT_SUPPORTED = "0A000", "feature_not_supported";
    // Invalid Transaction Initiation.
    INVALID_TRANSACTION_INITIATION = "0B000", "invalid_transaction_initiation";
    // Locator Exception.
    LOCATOR_EXCEPTION = "0F000", "locator_exception";
    INVALID_LOCATOR_SPECIFICATION = "0F001", "invalid_locator_specification";
    // Invalid Grantor.
    INVALID_GRANTOR = "0L000", "invalid_grantor";
    INVALID_GRANT_OPERATION = "0LP01", "invalid_grant_operation";
    // Invalid Role Specification.
    INVALID_ROLE_SPECIFICATION = "0P000", "invalid_role_specification";
    // Diagnostics Exception.
    DIAGNOSTICS_EXCEPTION = "0Z000", "diagnostics_exception";
    STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER = "0Z002", "stacked_diagnostics_accessed_without_active_handler";
    // Case Not Found.
    CASE_NOT_FOUND = "20000", "case_not_found";
    // Cardinality Violation.
    CARDINALITY_VIOLATION = "21000", "cardinality_violation";
    // Data Exception.
    DATA_EXCEPTION = "22000", "data_exception";
    ARRAY_SUBSCRIPT_ERROR = "2202E", "array_subscript_error";
    CHARACTER_NOT_IN_REPERTOIRE = "22021", "character_not_in_repertoire";
    DATETIME_FIELD_OVERFLOW = "22008", "datetime_field_overflow";
    DIVISION_BY_ZERO = "22012", "division_by_zero";
    ERROR_IN_ASSIGNMENT = "22005", "error_in_assignment";
    ESCAPE_CHARACTER_CONFLICT = "2200B", "escape_character_conflict";
    INDICATOR_OVERFLOW = "22022", "indicator_overflow";
    INTERVAL_FIELD_OVERFLOW = "22015", "interval_field_overflow";
    INVALID_ARGUMENT_FOR_LOGARITHM = "2201E", "invalid_argument_for_logarithm";
    INVALID_ARGUMENT_FOR_NTILE_FUNCTION = "22014", "invalid_argument_for_ntile_function";
    INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION = "22016", "invalid_argument_for_nth_value_function";
    INVALID_ARGUMENT_FOR_POWER_FUNCTION = "2201F", "invalid_argument_for_power_function";
    INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION = "2201G", "invalid_argument_for_width_bucket_function";
    INVALID_CHARACTER_VALUE_FOR_CAST = "22018", "invalid_character_value_for_cast";
    INVALID_DATETIME_FORMAT = "22007", "invalid_datetime_format";
    INVALID_ESCAPE_CHARACTER = "22019", "invalid_escape_character";
    INVALID_ESCAPE_OCTET = "2200D", "invalid_escape_octet";
    INVALID_ESCAPE_SEQUENCE = "22025", "invalid_escape_sequence";
    NONSTANDARD_USE_OF_ESCAPE_CHARACTER = "22P06", "nonstandard_use_of_escape_character";
    INVALID_INDICATOR_PARAMETER_VALUE = "22010", "invalid_indicator_parameter_value";
    INVALID_PARAMETER_VALUE = "22023", "invalid_parameter_value";
    INVALID_PRECEDING_OR_FOLLOWING_SIZE = "22013", "invalid_preceding_or_following_size";
    INVALID_REGULAR_EXPRESSION = "2201B", "invalid_regular_expression";
    INVALID_ROW_COUNT_IN_LIMIT_CLAUSE = "2201W", "invalid_row_count_in_limit_clause";
    INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE = "2201X", "invalid_row_count_in_result_offset_clause";
    INVALID_TABLESAMPLE_ARGUMENT = "2202H", "invalid_tablesample_argument";
    INVALID_TABLESAMPLE_REPEAT = "2202G", "invalid_tablesample_repeat";
    INVALID_TIME_ZONE_DISPLACEMENT_VALUE = "22009", "invalid_time_zone_displacement_value";
    INVALID_USE_OF_ESCAPE_CHARACTER = "2200C", "invalid_use_of_escape_character";
    MOST_SPECIFIC_TYPE_MISMATCH = "2200G", "most_specific_type_mismatch";
    NULL_VALUE_NOT_ALLOWED = "22004", "null_value_not_allowed";
    NULL_VALUE_NO_INDICATOR_PARAMETER = "22002", "null_value_no_indicator_parameter";
    NUMERIC_VALUE_OUT_OF_RANGE = "22003", "numeric_value_out_of_range";
    SEQUENCE_GENERATOR_LIMIT_EXCEEDED = "2200H", "sequence_generator_limit_exceeded";
    STRING_DATA_LENGTH_MISMATCH = "22026", "string_data_length_mismatch";
    STRING_DATA_RIGHT_TRUNCATION = "22001", "string_data_right_truncation";
    SUBSTRING_ERROR = "22011", "substring_error";
    TRIM_ERROR = "22027", "trim_error";
    UNTERMINATED_C_STRING = "22024", "unterminated_c_string";
    ZERO_LENGTH_CHARACTER_STRING = "2200F", "zero_length_character_string";
    FLOATING_POINT_EXCEPTION = "22P01", "floating_point_exception";
    INVALID_TEXT_REPRESENTATION = "22P02", "invalid_text_representation";
    INVALID_BINARY_REPRESENTATION = "22P03", "invalid_binary_representation";
    BAD_COPY_FILE_FORMAT = "22P04", "bad_copy_file_format";
    UNTRANSLATABLE_CHARACTER = "22P05", "untranslatable_character";
    NOT_AN_XML_DOCUMENT = "2200L", "not_an_xml_document";
    INVALID_XML_DOCUMENT = "2200M", "invalid_xml_document";
    INVALID_XML_CONTENT = "2200N", "invalid_xml_content";
    INVALID_XML_COMMENT = "2200S", "invalid_xml_comment";
    INVALID_XML_PROCESSING_INSTRUCTION = "2200T", "invalid_xml_processing_instruction";
    DUPLICATE_JSON_OBJECT_KEY_VALUE = "22030", "duplicate_json_object_key_value";
    INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION = "22031", "invalid_argument_for_sql_json_datetime_function";
    INVALID_JSON_TEXT = "22032", "invalid_json_text";
    INVALID_SQL_JSON_SUBSCRIPT = "22033", "invalid_sql_json_subscript";
    MORE_THAN_ONE_SQL_JSON_ITEM = "22034", "more_than_one_sql_json_item";
    NO_SQL_JSON_ITEM = "22035", "no_sql_json_item";
    NON_NUMERIC_SQL_JSON_ITEM = "22036", "non_numeric_sql_json_item";
    NON_UNIQUE_KEYS_IN_A_JSON_OBJECT = "22037", "non_unique_keys_in_a_json_object";
    SINGLETON_SQL_JSON_ITEM_REQUIRED = "22038", "singleton_sql_json_item_required";
    SQL_JSON_ARRAY_NOT_FOUND = "22039", "sql_json_array_not_found";
    SQL_JSON_MEMBER_NOT_FOUND = "2203A", "sql_json_member_not_found";
    SQL_JSON_NUMBER_NOT_FOUND = "2203B", "sql_json_number_not_found";
    SQL_JSON_OBJECT_NOT_FOUND = "2203C", "sql_json_object_not_found";
    TOO_MANY_JSON_ARRAY_ELEMENTS = "2203D", "too_many_json_array_elements";
    TOO_MANY_JSON_OBJECT_MEMBERS = "2203E", "too_many_json_object_members";
    SQL_JSON_SCALAR_REQUIRED = "2203F", "sql_json_scalar_required";
    SQL_JSON_ITEM_CANNOT_BE_CAST_TO_TARGET_TYPE = "2203G", "sql_json_item_cannot_be_cast_to_target_type";
    // Integrity Constraint Violation.
    INTEGRITY_CONSTRAINT_VIOLATION = "23000", "integrity_constraint_violation";
    RESTRICT_VIOLATION = "23001", "restrict_violation";
    NOT_NULL_VIOLATION = "23502", "not_null_violation";
    FOREIGN_KEY_VIOLATION = "23503", "foreign_key_violation";
    UNIQUE_VIOLATION = "23505", "unique_violation";
    CHECK_VIOLATION = "23514", "check_violation";
    EXCLUSION_VIOLATION = "23P01", "exclusion_violation";
    // Invalid Cursor State.
    INVALID_CURSOR_STATE = "24000", "invalid_cursor_state";
    // Invalid Transaction State.
    INVALID_TRANSACTION_STATE = "25000", "invalid_transaction_state";
    ACTIVE_SQL_TRANSACTION = "25001", "active_sql_transaction";
    BRANCH_TRANSACTION_ALREADY_ACTIVE = "25002", "branch_transaction_already_active";
    HELD_CURSOR_REQUIRES_SAME_ISOLATION_LEVEL = "25008", "held_cursor_requires_same_isolation_level";
    INAPPROPRIATE_ACCESS_MODE_FOR_BRANCH_TRANSACTION = "25003", "inappropriate_access_mode_for_branch_transaction";
    INAPPROPRIATE_ISOLATION_LEVEL_FOR_BRANCH_TRANSACTION = "25004", "inappropriate_isolation_level_for_branch_transaction";
    NO_ACTIVE_SQL_TRANSACTION_FOR_BRANCH_TRANSACTION = "25005", "no_active_sql_transaction_for_branch_transaction";
    READ_ONLY_SQL_TRANSACTION = "25006", "read_only_sql_transaction";
    SCHEMA_AND_DATA_STATEMENT_MIXING_NOT_SUPPORTED = "25007", "schema_and_data_statement_mixing_not_supported";
    NO_ACTIVE_SQL_TRANSACTION = "25P01", "no_active_sql_transaction";
    IN_FAILED_SQL_TRANSACTION = "25P02", "in_failed_sql_transaction";
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT = "25P03", "idle_in_transaction_session_timeout";
    TRANSACTION_TIMEOUT = "25P04", "transaction_timeout";
    // Invalid SQL Statement Name.
    INVALID_SQL_STATEMENT_NAME = "26000", "invalid_sql_statement_name";
    // Triggered Data Change Violation.
    TRIGGERED_DATA_CHANGE_VIOLATION = "27000", "triggered_data_change_violation";
    // Invalid Authorization Specification.
    INVALID_AUTHORIZATION_SPECIFICATION = "28000", "invalid_authorization_specification";
    INVALID_PASSWORD = "28P01", "invalid_password";
    // Dependent Privilege Descriptors Still Exist.
    DEPENDENT_PRIVILEGE_DESCRIPTORS_STILL_EXIST = "2B000", "dependent_privilege_descriptors_still_exist";
    DEPENDENT_OBJECTS_STILL_EXIST = "2BP01", "dependent_objects_still_exist";
    // Invalid Transaction Termination.
    INVALID_TRANSACTION_TERMINATION = "2D000", "invalid_transaction_termination";
    // SQL Routine Exception.
    SQL_ROUTINE_EXCEPTION = "2F000", "sql_routine_exception";
    FUNCTION_EXECUTED_NO_RETURN_STATEMENT = "2F005", "function_executed_no_return_statement";
    SQL_ROUTINE_MODIFYING_SQL_DATA_NOT_PERMITTED = "2F002", "modifying_sql_data_not_permitted";
    SQL_ROUTINE_PROHIBITED_SQL_STATEMENT_ATTEMPTED = "2F003", "prohibited_sql_statement_attempted";
    SQL_ROUTINE_READING_SQL_DATA_NOT_PERMITTED = "2F004", "reading_sql_data_not_permitted";
    // Invalid Cursor Name.
    INVALID_CURSOR_NAME = "34000", "invalid_cursor_name";
    // External Routine Exception.
    EXTERNAL_ROUTINE_EXCEPTION = "38000", "external_routine_exception";
    CONTAINING_SQL_NOT_PERMITTED = "38001", "containing_sql_not_permitted";
    EXTERNAL_ROUTINE_MODIFYING_SQL_DATA_NOT_PERMITTED = "38002", "modifying_sql_data_not_permitted";
    EXTERNAL_ROUTINE_PROHIBITED_SQL_STATEMENT_ATTEMPTED = "38003", "prohibited_sql_statement_attempted";
    EXTERNAL_ROUTINE_READING_SQL_DATA_NOT_PERMITTED = "38004", "reading_sql_data_not_permitted";
    // External Routine Invocation Exception.
    EXTERNAL_ROUTINE_INVOCATION_EXCEPTION = "39000", "external_routine_invocation_exception";
    INVALID_SQLSTATE_RETURNED = "39001", "invalid_sqlstate_returned";
    EXTERNAL_ROUTINE_NULL_VALUE_NOT_ALLOWED = "39004", "null_value_not_allowed";
    TRIGGER_PROTOCOL_VIOLATED = "39P01", "trigger_protocol_violated";
    SRF_PROTOCOL_VIOLATED = "39P02", "srf_protocol_violated";
    EVENT_TRIGGER_PROTOCOL_VIOLATED = "39P03", "event_trigger_protocol_violated";
    // Savepoint Exception.
    SAVEPOINT_EXCEPTION = "3B000", "savepoint_exception";
    INVALID_SAVEPOINT_SPECIFICATION = "3B001", "invalid_savepoint_specification";
    // Invalid Catalog Name.
    INVALID_CATALOG_NAME = "3D000", "invalid_catalog_name";
    // Invalid Schema Name.
    INVALID_SCHEMA_NAME = "3F000", "invalid_schema_name";
    // Transaction Rollback.
    TRANSACTION_ROLLBACK = "40000", "transaction_rollback";
    TRANSACTION_INTEGRITY_CONSTRAINT_VIOLATION = "40002", "transaction_integrity_constraint_violation";
    SERIALIZATION_FAILURE = "40001", "serialization_failure";
    STATEMENT_COMPLETION_UNKNOWN = "40003", "statement_completion_unknown";
    DEADLOCK_DETECTED = "40P01", "deadlock_detected";
    // Syntax Error or Access Rule Violation.
    SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION = "42000", "syntax_error_or_access_rule_violation";
    SYNTAX_ERROR = "42601", "syntax_error";
    INSUFFICIENT_PRIVILEGE = "42501", "insufficient_privilege";
    CANNOT_COERCE = "42846", "cannot_coerce";
    GROUPING_ERROR = "42803", "grouping_error";
    WINDOWING_ERROR = "42P20", "windowing_error";
    INVALID_RECURSION = "42P19", "invalid_recursion";
    INVALID_FOREIGN_KEY = "42830", "invalid_foreign_key";
    INVALID_NAME = "42602", "invalid_name";
    NAME_TOO_LONG = "42622", "name_too_long";
    RESERVED_NAME = "42939", "reserved_name";
    DATATYPE_MISMATCH = "42804", "datatype_mismatch";
    INDETERMINATE_DATATYPE = "42P18", "indeterminate_datatype";
    COLLATION_MISMATCH = "42P21", "collation_mismatch";
    INDETERMINATE_COLLATION = "42P22", "indeterminate_collation";
    WRONG_OBJECT_TYPE = "42809", "wrong_object_type";
    GENERATED_ALWAYS = "428C9", "generated_always";
    UNDEFINED_COLUMN = "42703", "undefined_column";
    UNDEFINED_FUNCTION = "42883", "undefined_function";
    UNDEFINED_TABLE = "42P01", "undefined_table";
    UNDEFINED_PARAMETER = "42P02", "undefined_parameter";
    UNDEFINED_OBJECT = "42704", "undefined_object";
    DUPLICATE_COLUMN = "42701", "duplicate_column";
    DUPLICATE_CURSOR = "42P03", "duplicate_cursor";
    DUPLICATE_DATABASE = "42P04", "duplicate_database";
    DUPLICATE_FUNCTION = "42723", "duplicate_function";
    DUPLICATE_PREPARED_STATEMENT = "42P05", "duplicate_prepared_statement";
    DUPLICATE_SCHEMA = "42P06", "duplicate_schema";
    DUPLICATE_TABLE = "42P07", "duplicate_table";
    DUPLICATE_ALIAS = "42712", "duplicate_alias";
    DUPLICATE_OBJECT = "42710", "duplicate_object";
    AMBIGUOUS_COLUMN = "42702", "ambiguous_column";
    AMBIGUOUS_FUNCTION = "42725", "ambiguous_function";
    AMBIGUOUS_PARAMETER = "42P08", "ambiguous_parameter";
    AMBIGUOUS_ALIAS = "42P09", "ambiguous_alias";
    INVALID_COLUMN_REFERENCE = "42P10", "invalid_column_reference";
    INVALID_COLUMN_DEFINITION = "42611", "invalid_column_definition";
    INVALID_CURSOR_DEFINITION = "42P11", "invalid_cursor_definition";
    INVALID_DATABASE_DEFINITION = "42P12", "invalid_database_definition";
    INVALID_FUNCTION_DEFINITION = "42P13", "invalid_function_definition";
    INVALID_PREPARED_STATEMENT_DEFINITION = "42P14", "invalid_prepared_statement_definition";
    INVALID_SCHEMA_DEFINITION = "42P15", "invalid_schema_definition";
    INVALID_TABLE_DEFINITION = "42P16", "invalid_table_definition";
    INVALID_OBJECT_DEFINITION = "42P17", "invalid_object_definition";
    // WITH CHECK OPTION Violation.
    WITH_CHECK_OPTION_VIOLATION = "44000", "with_check_option_violation";
    // Insufficient Resources.
    INSUFFICIENT_RESOURCES = "53000", "insufficient_resources";
    DISK_FULL = "53100", "disk_full";
    OUT_OF_MEMORY = "53200", "out_of_memory";
    TOO_MANY_CONNECTIONS = "53300", "too_many_connections";
    CONFIGURATION_LIMIT_EXCEEDED = "53400", "configuration_limit_exceeded";
    // Program Limit Exceeded.
    PROGRAM_LIMIT_EXCEEDED = "54000", "program_limit_exceeded";
    STATEMENT_TOO_COMPLEX = "54001", "statement_too_complex";
    TOO_MANY_COLUMNS = "54011", "too_many_columns";
    TOO_MANY_ARGUMENTS = "54023", "too_many_arguments";
    // Object Not In Prerequisite State.
    OBJECT_NOT_IN_PREREQUISITE_STATE = "55000", "object_not_in_prerequisite_state";
    OBJECT_IN_USE = "55006", "object_in_use";
    CANT_CHANGE_RUNTIME_PARAM = "55P02", "cant_change_runtime_param";
    LOCK_NOT_AVAILABLE = "55P03", "lock_not_available";
    UNSAFE_NEW_ENUM_VALUE_USAGE = "55P04", "unsafe_new_enum_value_usage";
    // Operator Intervention.
    OPERATOR_INTERVENTION = "57000", "operator_intervention";
    QUERY_CANCELED = "57014", "query_canceled";
    ADMIN_SHUTDOWN = "57P01", "admin_shutdown";
    CRASH_SHUTDOWN = "57P02", "crash_shutdown";
    CANNOT_CONNECT_NOW = "57P03", "cannot_connect_now";
    DATABASE_DROPPED = "57P04", "database_dropped";
    IDLE_SESSION_TIMEOUT = "57P05", "idle_session_timeout";
    // System Error.
    SYSTEM_ERROR = "58000", "system_error";
    IO_ERROR = "58030", "io_error";
    UNDEFINED_FILE = "58P01", "undefined_file";
    DUPLICATE_FILE = "58P02", "duplicate_file";
    // Configuration File Error.
    CONFIG_FILE_ERROR = "F0000", "config_file_error";
    LOCK_FILE_EXISTS = "F0001", "lock_file_exists";
    // PL/pgSQL Error.
    PLPGSQL_ERROR = "P0000", "plpgsql_error";
    RAISE_EXCEPTION = "P0001", "raise_exception";
    NO_DATA_FOUND = "P0002", "no_data_found";
    TOO_MANY_ROWS = "P0003", "too_many_rows";
    ASSERT_FAILURE = "P0004", "assert_failure";
    // Internal Error.
    INTERNAL_ERROR = "XX000", "internal_error";
    DATA_CORRUPTED = "XX001", "data_corrupted";
    INDEX_CORRUPTED = "XX002", "index_corrupted";
}
